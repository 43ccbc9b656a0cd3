// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"
)

const (
	// echoInterval is the time between two echo requests (RFC 7047, 4.1.11). When maxSilent of them have brought no sign of
	// life, ovsdb-server counts as hung, after 30 s as ovs-vswitchd does. Requests are counted, not time, so a pause of this process
	// does not look like silence of the server.
	echoInterval = 5 * time.Second
	maxSilent    = 6
	// maxMessage bounds a message of ovsdb-server. 10,000 ports are about 10 MB.
	maxMessage = 256 << 20
)

// echoID is the id of the guard's own requests; libovsdb's ids are numbers.
const echoID = `"antrea-guard"`

var errHung = errors.New("ovsdb-server has not answered an echo")

// Errors that end the guard when the connection to one side has ended.
var (
	errReadLibrary = errors.New("read from libovsdb")
	errReadServer  = errors.New("read from ovsdb-server")
)

// guard stands between libovsdb and ovsdb-server, because libovsdb does not check what it receives. Some answers make the
// process panic, in goroutines of libovsdb; others are dropped in part, and its copy of the database is wrong from then on.
// Therefore a message that the guard's vetter refuses ends the connection; so does a server that does not answer.
//
// libovsdb can only dial a path. So the guard listens on a socket in a directory of its own, for one connection, and
// removes both once the connection exists.
type guard struct {
	server net.Conn
	// library is nil until libovsdb has dialed.
	library net.Conn
	vet     *vetter
	// alive is set by each message of the server.
	alive atomic.Bool
	// writing protects writes to the server.
	writing sync.Mutex

	mu     sync.Mutex
	err    error
	closed chan struct{}
	// connected is closed when libovsdb's Connect has returned.
	connected chan struct{}
}

// newGuard connects to ovsdb-server at path and returns the path at which libovsdb finds the guard. The guard lives until
// close or an error, and stops listening when ctx ends.
func newGuard(ctx context.Context, path string, m model.ClientDBModel) (*guard, string, error) {
	server, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, "", err
	}
	closed := make(chan struct{})
	g := &guard{server: server, vet: newVetter(m, closed), closed: closed, connected: make(chan struct{})}
	dir, err := os.MkdirTemp("", "antrea-ovsdb")
	if err != nil {
		return nil, "", errors.Join(err, server.Close())
	}
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, "", errors.Join(err, server.Close(), os.RemoveAll(dir))
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		library, err := listener.Accept()
		stop()
		if closeErr := errors.Join(listener.Close(), os.RemoveAll(dir)); err == nil && !errors.Is(closeErr, net.ErrClosed) {
			err = closeErr
		}
		g.run(library, err)
	}()
	return g, socket, nil
}

// run passes messages on once libovsdb has connected, or ends the guard if it could not.
func (g *guard) run(library net.Conn, err error) {
	if err != nil {
		g.close(fmt.Errorf("wait for libovsdb: %w", err))
		return
	}
	g.mu.Lock()
	g.library = library
	ended := g.err != nil
	g.mu.Unlock()
	if ended {
		_ = library.Close()
		return
	}
	go g.pass(library, g.toServer, errReadLibrary)
	go g.pass(g.server, g.toLibrary, errReadServer)
	go g.echo(echoInterval)
}

// close ends both connections because of err; only the first call counts.
//
// With the schema Connect has all that it waits for, and starts goroutines. libovsdb 0.8.0 counts them without protection against the one that
// waits for them when the connection ends. Hence its connection lives until Connect has returned.
func (g *guard) close(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return
	}
	g.err = err
	_ = g.server.Close()
	switch library := g.library; {
	case library == nil:
	case g.vet.knowsSchema():
		go func() {
			<-g.connected
			_ = library.Close()
		}()
	default:
		_ = library.Close()
	}
	close(g.closed)
}

// reason returns why the guard has ended, nil while it has not.
func (g *guard) reason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// pass gives each message of one side to handle, until an error ends the guard: end, if the messages cannot be read.
func (g *guard) pass(from io.Reader, handle func(json.RawMessage) error, end error) {
	limited := &limitedReader{r: from}
	decoder := json.NewDecoder(limited)
	for {
		var message json.RawMessage
		if err := decoder.Decode(&message); err != nil {
			g.close(fmt.Errorf("%w: %w", end, err))
			return
		}
		limited.read = 0
		if err := handle(message); err != nil {
			g.close(err)
			return
		}
	}
}

func (g *guard) toServer(message json.RawMessage) error {
	if err := g.vet.request(message); err != nil {
		return err
	}
	return g.writeServer(message)
}

func (g *guard) writeServer(message []byte) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	_, err := g.server.Write(message)
	return err
}

func (g *guard) toLibrary(message json.RawMessage) error {
	g.alive.Store(true)
	concernsLibrary, err := g.vet.message(message)
	if err != nil {
		return fmt.Errorf("ovsdb-server sent an invalid message: %w", err)
	}
	if !concernsLibrary {
		return nil
	}
	_, err = g.library.Write(message)
	return err
}

// echo asks the server for signs of life.
func (g *guard) echo(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for silent := 0; ; {
		select {
		case <-ticker.C:
		case <-g.closed:
			return
		}
		if silent++; g.alive.Swap(false) {
			silent = 0
		}
		if silent == maxSilent {
			g.close(fmt.Errorf("%w for %v", errHung, maxSilent*interval))
			return
		}
		// A hung server may accept no more data, and then a blocked writer holds the lock.
		if g.writing.TryLock() {
			_ = g.server.SetWriteDeadline(time.Now().Add(interval))
			_, err := g.server.Write([]byte(`{"method":"echo","params":[],"id":` + echoID + `}`))
			_ = g.server.SetWriteDeadline(time.Time{})
			g.writing.Unlock()
			if err != nil {
				g.close(fmt.Errorf("send an echo request to ovsdb-server: %w", err))
				return
			}
		}
	}
}

// limitedReader refuses to read more than maxMessage unless read is reset to 0 in between.
type limitedReader struct {
	r    io.Reader
	read int
}

func (l *limitedReader) Read(b []byte) (int, error) {
	if l.read > maxMessage {
		return 0, fmt.Errorf("a message has more than %d bytes", maxMessage)
	}
	n, err := l.r.Read(b)
	l.read += n
	return n, err
}
