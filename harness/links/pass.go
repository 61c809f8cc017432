package main

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// passEach forwards each chunk when it is due, until the connection ends or the toxic is interrupted.
func passEach(stub *toxics.ToxicStub, due func(*stream.StreamChunk) time.Time) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			if !passAt(stub, chunk, due(chunk)) {
				return
			}
		}
	}
}

// passAt forwards a chunk when it is due, or at once when the toxic is interrupted; then it returns false. A latency
// toxic later in the chain counts from the chunk's timestamp, so passAt advances it.
func passAt(stub *toxics.ToxicStub, chunk *stream.StreamChunk, due time.Time) bool {
	if wait := time.Until(due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stub.Interrupt:
			stub.Output <- chunk
			return false
		}
	}
	if due.After(chunk.Timestamp) {
		chunk.Timestamp = due
	}
	stub.Output <- chunk
	return true
}
