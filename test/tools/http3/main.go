// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// http3 is an HTTP/3 server and a client that measures. With quic-go's defaults the sender passes trains of datagrams to the kernel as one
// super-packet (UDP_SEGMENT) if the kernel has that; the receiver reads datagrams one by one, without UDP_GRO. Both ends encrypt
// in user space.
//
// serve.go is the server, fetch.go the client, order.go watches the order of packets, certificate.go makes the server's certificate.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "http3:", err)
		os.Exit(1)
	}
}

// run does what the arguments ask for, until it is done or ctx ends. The client's result, one JSON object, goes to out.
func run(ctx context.Context, args []string, out, status io.Writer) error {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("http3 "+command, flag.ContinueOnError)
	flags.SetOutput(status)
	parse := func() error {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if flags.NArg() > 0 {
			return fmt.Errorf("unknown argument %q: %s takes only flags", flags.Arg(0), flags.Name())
		}
		return nil
	}
	switch command {
	case "serve":
		listen := flags.String("listen", "", "address:port")
		if err := parse(); err != nil {
			return err
		}
		return serve(ctx, *listen, status)
	case "fetch":
		var f fetch
		flags.StringVar(&f.to, "to", "", "address:port of the server")
		flags.Int64Var(&f.size, "size", 1024, "bytes of each body")
		flags.IntVar(&f.connections, "connections", 1, "number of connections, each with one request at a time")
		flags.DurationVar(&f.duration, "duration", 10*time.Second, "how long to send requests once all connections are there")
		flags.BoolVar(&f.order, "order", false, "watch the order in which packets come, which costs the client time")
		if err := parse(); err != nil {
			return err
		}
		result, err := f.run(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(result)
	}
	return fmt.Errorf("command %q does not exist; there are serve and fetch", command)
}
