package main

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// passEach hands on what comes, each chunk when it is due, until the connection ends or the toxic is interrupted.
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

// passAt hands a chunk on when its time has come, and says whether the toxic may go on; interrupted, it hands it on at once.
// A later latency counts from the time in the chunk, so that is moved along.
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
