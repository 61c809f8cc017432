// Command links carries the lab's traffic between hops: toxiproxy with two more toxics, `handshake` and `uplink`.
// Custom toxics require a custom program: https://github.com/Shopify/toxiproxy/blob/main/CREATING_TOXICS.md
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

const library = "github.com/Shopify/toxiproxy/v2"

func main() {
	host := flag.String("host", "127.0.0.1", "address of the HTTP API")
	port := flag.String("port", "8474", "port of the HTTP API")
	version := flag.Bool("version", false, "print the version of toxiproxy inside, and what was added")
	flag.Parse()
	if *version {
		fmt.Printf("toxiproxy %s with the toxics handshake, uplink\n", libraryVersion())
		return
	}
	if err := serve(net.JoinHostPort(*host, *port)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs toxiproxy's HTTP API until SIGINT or SIGTERM.
func serve(address string) error {
	// Level info logs a line for each connection, and a load test opens thousands a second.
	logger := zerolog.New(os.Stdout).Level(zerolog.WarnLevel).With().Timestamp().Logger()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Listen(address) }()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	select {
	case err := <-failed:
		return errors.Join(errors.New("the HTTP API ended"), err)
	case <-signals:
		return server.Shutdown()
	}
}

// libraryVersion returns the version of toxiproxy that go.mod pinned at build time, without the "v".
func libraryVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range info.Deps {
			if module.Path == library {
				return module.Version[1:]
			}
		}
	}
	return "0.0.0"
}
