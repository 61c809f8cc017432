package main

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// HandshakeToxic delays the first bytes of each connection. Toxiproxy accepts connections at once, so the round trip of
// the TCP handshake (RFC 9293 §3.5) would be missing. A client that speaks first cannot tell the delay from a late
// SYN-ACK.
type HandshakeToxic struct {
	// Round-trip time in milliseconds.
	Delay float64 `json:"delay"`
}

type handshakeState struct{ done bool }

// NewState returns the state of a new connection: its first bytes are not sent yet.
func (toxic *HandshakeToxic) NewState() interface{} { return new(handshakeState) }

// Pipe forwards all chunks and delays the first.
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
