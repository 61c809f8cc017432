package main

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// HandshakeToxic holds back the first bytes of each connection. A proxy accepts at once, so the round trip that a fresh TCP
// connection costs (RFC 9293 §3.5) would be missing; a client that speaks first cannot tell it from a late SYN-ACK.
type HandshakeToxic struct {
	// Round-trip time in milliseconds.
	Delay float64 `json:"delay"`
}

type handshakeState struct{ done bool }

// NewState says for each connection that its first bytes are still to come.
func (toxic *HandshakeToxic) NewState() interface{} { return new(handshakeState) }

// Pipe passes everything on, the first chunk late.
func (toxic *HandshakeToxic) Pipe(stub *toxics.ToxicStub) {
	state := stub.State.(*handshakeState)
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			if !state.done {
				state.done = true
				due := chunk.Timestamp.Add(time.Duration(toxic.Delay * float64(time.Millisecond)))
				if !passAt(stub, chunk, due) {
					return
				}
				continue
			}
			stub.Output <- chunk
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

func init() { toxics.Register("handshake", new(HandshakeToxic)) }
