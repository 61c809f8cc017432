package main

import (
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// UplinkToxic limits the total rate of all connections of all proxies with the same uplink name. It sends their bytes
// one after the other, like a host's network interface. Toxiproxy's own bandwidth toxic limits each connection
// separately.
type UplinkToxic struct {
	Name string `json:"name"`
	// In bytes per second; 0: no limit.
	Rate int64 `json:"rate"`
}

// uplink is free when the last queued byte has been sent.
type uplink struct {
	mutex sync.Mutex
	free  time.Time
}

var (
	uplinks      = map[string]*uplink{}
	uplinksMutex sync.Mutex
)

func uplinkOf(name string) *uplink {
	uplinksMutex.Lock()
	defer uplinksMutex.Unlock()
	if uplinks[name] == nil {
		uplinks[name] = new(uplink)
	}
	return uplinks[name]
}

// reserve queues bytes behind all others and returns the time when the last of them is sent. It counts from their
// arrival (came), not from the call, so that a timer that fires late does not reduce the rate.
func (link *uplink) reserve(bytes int, rate int64, came time.Time) time.Time {
	link.mutex.Lock()
	defer link.mutex.Unlock()
	if link.free.Before(came) {
		link.free = came
	}
	link.free = link.free.Add(time.Duration(int64(bytes) * int64(time.Second) / rate))
	return link.free
}

// GetBufferSize returns how many chunks of at most 32 kB may wait per connection: together, a socket buffer of 256 kB.
func (toxic *UplinkToxic) GetBufferSize() int { return 8 }

// Pipe forwards each chunk when the uplink has sent it.
func (toxic *UplinkToxic) Pipe(stub *toxics.ToxicStub) {
	link := uplinkOf(toxic.Name)
	passEach(stub, func(chunk *stream.StreamChunk) time.Time {
		if toxic.Rate <= 0 {
			return chunk.Timestamp
		}
		return link.reserve(len(chunk.Data), toxic.Rate, chunk.Timestamp)
	})
}

func init() { toxics.Register("uplink", new(UplinkToxic)) }
