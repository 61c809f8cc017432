package main

import (
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// UplinkToxic sends the bytes of all connections, of every proxy that names the same uplink, one after the other at one rate:
// as a host's network interface does. Toxiproxy's own bandwidth toxic gives the rate to each connection anew.
type UplinkToxic struct {
	Name string `json:"name"`
	// Bytes a second; 0 for no limit.
	Rate int64 `json:"rate"`
}

// uplink knows when the last byte that it was given will have left.
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

// reserve queues bytes that came at a time behind all others, and returns when the last of them will have left. It counts from when
// they came and not from when it is asked, so that a timer that fires late takes nothing from the rate.
func (link *uplink) reserve(bytes int, rate int64, came time.Time) time.Time {
	link.mutex.Lock()
	defer link.mutex.Unlock()
	if link.free.Before(came) {
		link.free = came
	}
	link.free = link.free.Add(time.Duration(int64(bytes) * int64(time.Second) / rate))
	return link.free
}

// GetBufferSize is the chunks, of at most 32 kB, that may wait for each connection: as a socket buffer of 256 kB.
func (toxic *UplinkToxic) GetBufferSize() int { return 8 }

// Pipe passes each chunk on when the uplink has sent it.
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
