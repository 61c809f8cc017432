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
	passEach(stub, func(chunk *stream.StreamChunk) time.Time {
		if state.done {
			return chunk.Timestamp
		}
		state.done = true
		return chunk.Timestamp.Add(time.Duration(toxic.Delay * float64(time.Millisecond)))
	})
}

func init() { toxics.Register("handshake", new(HandshakeToxic)) }
