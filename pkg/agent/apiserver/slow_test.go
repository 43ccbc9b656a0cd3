// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

// patience is for what must happen long before.
const patience = 30 * time.Second

func (f *fixture) address() string { return strings.TrimPrefix(f.url, "https://") }

// connect makes a connection, with TLS or only TCP.
func (f *fixture) connect(encrypted bool) net.Conn {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.address())
	require.NoError(f.t, err)
	f.t.Cleanup(func() { conn.Close() })
	if !encrypted {
		return conn
	}
	config := f.client.Transport.(*http.Transport).TLSClientConfig.Clone()
	return tls.Client(conn, config)
}

// speak makes the client use another version of HTTP.
func (f *fixture) speak(protocol string) {
	f.client.CloseIdleConnections()
	transport := f.client.Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = protocol == "HTTP/2.0"
	f.client.Transport = transport
}

// drip sends the text and then now and then a byte, until the server ends the connection.
func drip(conn net.Conn, text string) {
	_, err := io.WriteString(conn, text)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for err == nil {
		<-ticker.C
		_, err = io.WriteString(conn, "x")
	}
}

// Clients that never finish a request are cut off, and delay no other client.
func TestSlowSenders(t *testing.T) {
	for _, tc := range []struct {
		name      string
		encrypted bool
		text      string
	}{
		{"a TLS handshake", false, "\x16\x03\x01\x10\x00"},
		{"a header", true, "GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Slow: "},
		{"a body", true, "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n"},
		{"a body of unknown length", true, "POST /hello HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfff0\r\n"},
		{"the body of a GET", true, "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			withLimits(t, 500*time.Millisecond, func(limit time.Duration) error { return serveBesideSlow(t, limit, tc.encrypted, tc.text) })
		})
	}
}

// withLimits runs an attempt with longer and longer limits, until one succeeds: on a busy machine, good clients miss short ones.
func withLimits(t *testing.T, limit time.Duration, attempt func(limit time.Duration) error) {
	t.Helper()
	err := attempt(limit)
	for ; err != nil && limit < 5*time.Second; err = attempt(limit) {
		limit *= 4
	}
	require.NoError(t, err, "with a limit of %v", limit)
}

// serveBesideSlow has clients that begin with the text, and returns an error if another client is not served while the server waits for them.
func serveBesideSlow(t *testing.T, limit time.Duration, encrypted bool, text string) error {
	limits := generic.Limits{Header: limit, Body: limit, GuestsOfSource: 1000}
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) { c.Limits = limits })
	const slow = 50
	var wait sync.WaitGroup
	for range slow {
		conn := f.connect(encrypted)
		wait.Go(func() { drip(conn, text) })
	}
	ended := make(chan struct{})
	go func() { wait.Wait(); close(ended) }()
	timeout := time.After(patience)
	for served := 0; ; served++ {
		status, body, err := f.try("GET", "/hello", f.token)
		if err != nil {
			return err
		}
		require.Equal(t, http.StatusOK, status, body)
		select {
		case <-ended:
			if served == 0 {
				return errors.New("no request was served before the slow clients were cut off")
			}
			return nil
		case <-timeout:
			t.Fatal("the server still waits for slow clients")
		default:
		}
	}
}

// With HTTP/2 many requests share a connection; each has its own time.
func TestSlowBodyOfHTTP2(t *testing.T) {
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) { c.Limits = generic.Limits{Body: 300 * time.Millisecond} })
	f.speak("HTTP/2.0")
	never, end := io.Pipe()
	defer end.Close()
	answered := make(chan int, 1)
	go func() {
		response, err := f.client.Post(f.url+"/hello", "", never)
		if err != nil {
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	select {
	case status := <-answered:
		require.Equal(t, http.StatusRequestTimeout, status)
	case <-time.After(patience):
		t.Fatal("the server still waits for a body")
	}
	status, body := f.do("GET", "/hello", f.token)
	require.Equal(t, http.StatusOK, status, body)
}

func TestLargeRequests(t *testing.T) {
	f := start(t, &apiservertest.Kubernetes{}, nil)
	limits := generic.DefaultLimits()
	request := func(body io.Reader, header string) int {
		r, err := http.NewRequest("GET", f.url+"/hello", body)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+f.token)
		r.Header.Set("X-Large", header)
		response, err := f.client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	body := func(n int64) io.Reader { return bytes.NewReader(make([]byte, n)) }
	require.Equal(t, http.StatusOK, request(body(limits.BodyBytes), ""))
	require.Equal(t, http.StatusRequestEntityTooLarge, request(body(limits.BodyBytes+1), ""))
	require.Equal(t, http.StatusRequestEntityTooLarge, request(io.MultiReader(body(limits.BodyBytes), body(1)), ""), "of unknown length")
	require.Equal(t, http.StatusOK, request(nil, strings.Repeat("x", limits.HeaderBytes/2)))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, request(nil, strings.Repeat("x", 2*limits.HeaderBytes)))
}

// A client that asks and never reads occupies the server for as long as it may.
func TestClientsThatDoNotRead(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			ended := make(chan error, 1)
			f := start(t, &apiservertest.Kubernetes{}, func(c *Config) {
				c.Limits = generic.Limits{Write: 300 * time.Millisecond}
				c.Routes["/large"] = func(w http.ResponseWriter, _ *http.Request) {
					piece := make([]byte, 1<<20)
					for range 1000 {
						if _, err := w.Write(piece); err != nil {
							ended <- err
							return
						}
					}
					ended <- nil
				}
			})
			f.speak(protocol)
			r, err := http.NewRequest("GET", f.url+"/large", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+f.token)
			response, err := f.client.Do(r)
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, protocol, response.Proto)
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(patience):
				t.Fatal("the server waits for a client that does not read")
			}
			status, body := f.do("GET", "/hello", f.token)
			require.Equal(t, http.StatusOK, status, body)
		})
	}
}

// A pause longer than the limit of a write is none of a client that does not read.
func TestSlowHandlersAreNotCutOff(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			withLimits(t, 200*time.Millisecond, func(limit time.Duration) error { return pauseBetweenWrites(t, limit, protocol) })
		})
	}
}

// pauseBetweenWrites has a handler with pauses that are longer than the limit of a write, and returns an error if its answer is cut off.
func pauseBetweenWrites(t *testing.T, limit time.Duration, protocol string) error {
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) {
		c.Limits = generic.Limits{Write: limit}
		c.Routes["/pauses"] = func(w http.ResponseWriter, _ *http.Request) {
			for range 2 {
				fmt.Fprintln(w, "piece")
				w.(http.Flusher).Flush()
				<-time.After(limit + limit/2)
			}
		}
	})
	f.speak(protocol)
	for range 2 { // the second one on the same connection
		status, body, err := f.try("GET", "/pauses", f.token)
		if err != nil {
			return err
		}
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, strings.Repeat("piece\n", 2), body)
	}
	return nil
}

// Unknown clients can have some connections, the latest, and take none from clients whose requests are allowed.
func TestManyConnections(t *testing.T) {
	const most = 20
	f := start(t, &apiservertest.Kubernetes{}, func(c *Config) { c.Limits = generic.Limits{GuestsOfSource: most} })
	friend := f.connect(true)
	reader := bufio.NewReader(friend)
	ask := func() {
		t.Helper()
		_, err := fmt.Fprintf(friend, "GET /hello HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", f.token)
		require.NoError(t, err)
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	ask()
	var strangers []net.Conn
	for range 3 * most {
		strangers = append(strangers, f.connect(false))
	}
	for i, conn := range strangers[:2*most] {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "connection %d is still open", i)
	}
	ask()
	status, _ := f.do("GET", "/livez", "")
	require.Equal(t, http.StatusOK, status, "a new connection")
}
