// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// console writes a machine's console to a file and picks out the guest's messages to us.
type console struct {
	messages chan string

	mu   sync.Mutex
	file *os.File
	line []byte
	last []string
}

const (
	tailLines   = 25
	bootTimeout = 5 * time.Minute // 5 s on an idle machine under emulation; shared machines are slower
)

func newConsole(path string) (*console, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &console{file: f, messages: make(chan string, 64)}, nil
}

// Write implements io.Writer.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line = append(c.line, p...)
	for {
		end := bytes.IndexByte(c.line, '\n')
		if end < 0 {
			break
		}
		c.take(strings.TrimRight(string(c.line[:end]), "\r"))
		c.line = c.line[end+1:]
	}
	return c.file.Write(p)
}

func (c *console) take(line string) {
	c.last = append(c.last, line)
	if len(c.last) > tailLines {
		c.last = c.last[1:]
	}
	// The kernel may have written the beginning of the line.
	if _, message, found := strings.Cut(line, guest.Marker); found {
		select {
		case c.messages <- message:
		default: // there is no waiter left
		}
	}
}

// waitReady shows the guest's messages until the guest reports that it is ready. If ended is closed first, or the boot takes too long,
// it returns an error with the end of the console.
func (c *console) waitReady(ctx context.Context, ended <-chan struct{}, p *progress.Printer) error {
	timeout := time.NewTimer(bootTimeout)
	defer timeout.Stop()
	for {
		select {
		case message := <-c.messages:
			p.Printf("machine: %s", message)
			if message == guest.ReadyMessage {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return fmt.Errorf("the machine has ended during boot; the end of its console:\n%s", c.tail())
		case <-timeout.C:
			return fmt.Errorf("the machine was not ready after %s; the end of its console:\n%s", bootTimeout, c.tail())
		}
	}
}

// tail returns the last lines.
func (c *console) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(append(c.last[:len(c.last):len(c.last)], string(c.line)), "\n")
}

func (c *console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file.Close()
}
