// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// badPolicies panics for the Pods of one name.
type badPolicies struct{ bad string }

func (p badPolicies) PodArrives(c *interfacestore.InterfaceConfig) error {
	if c.PodName == p.bad {
		panic("boom " + p.bad)
	}
	return nil
}
func (badPolicies) PodLeaves(*interfacestore.InterfaceConfig) {}

// client returns a client of the served socket.
func (h *harness) client() cnipb.CniClient {
	h.t.Helper()
	conn, err := grpc.NewClient("unix://"+h.server.cfg.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(h.t, err)
	h.t.Cleanup(func() { conn.Close() })
	return cnipb.NewCniClient(conn)
}

// logged returns the log output from now on, until the returned function is called.
func logged(t *testing.T) (end func() string) {
	t.Helper()
	var mu sync.Mutex
	var log bytes.Buffer
	state := klog.CaptureState()
	klog.LogToStderr(false)
	klog.SetOutput(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}))
	return func() string {
		klog.Flush()
		klog.SetOutput(io.Discard)
		state.Restore()
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A panic in any step of ADD affects only that Pod: the step is undone, answered and reported, and no lock stays held.
func TestPanicOfARequest(t *testing.T) {
	reports := problem.NewRecorder()
	recovery.ReportTo(reports)
	h := newReadyHarness(t, func(c *Config) { c.Policies = badPolicies{"bad"} })
	h.serve()
	client := h.client()
	bad, good := h.newPod("bad"), h.newPod("good")
	bad.conf = map[string]any{"password": "swordfish"}
	end := logged(t)
	for range 3 { // as by a runtime that tries again
		response, err := client.CmdAdd(t.Context(), h.request(bad))
		require.NoError(t, err)
		require.Equal(t, cnipb.ErrorCode_UNKNOWN, response.Error.GetCode())
		require.Contains(t, response.Error.Message, "boom bad")
		require.Empty(t, response.CniResult)
		h.requireNothing(bad)
	}
	log := end()
	require.Contains(t, log, "cniserver.badPolicies.PodArrives", "the stack")
	require.Contains(t, log, bad.containerID)
	require.Contains(t, log, "CmdAdd")
	require.NotContains(t, log, "swordfish")
	problems, _ := reports.List()
	require.Len(t, problems, 1)
	require.Equal(t, problem.Subject{Kind: "Pod", Namespace: "test", Name: "bad"}, problems[0].Subject)
	require.Equal(t, 3, problems[0].Times)
	require.Empty(t, h.server.containerLocks.held)
	require.Empty(t, h.server.nameLocks.held)

	response, err := client.CmdAdd(t.Context(), h.request(good))
	require.NoError(t, err)
	require.Nil(t, response.Error)
	response, err = client.CmdDel(t.Context(), h.request(bad))
	require.NoError(t, err)
	require.Nil(t, response.Error)
	problems, _ = reports.List()
	require.Empty(t, problems)
}

func TestPanicOfReconcileConcernsOnePod(t *testing.T) {
	reports := problem.NewRecorder()
	recovery.ReportTo(reports)
	h := newReadyHarness(t)
	bad, good := h.newPod("bad"), h.newPod("good")
	h.mustAdd(bad)
	h.mustAdd(good)
	h.restart()
	h.flows.before = func(_, name string) {
		if name == bad.hostInterface() {
			panic("boom")
		}
	}
	require.NoError(t, h.server.Reconcile(t.Context(), podLister(t, apiPod("bad", testNodeName), apiPod("good", testNodeName)), synced))
	require.Contains(t, h.flows.all(), good.hostInterface())
	require.NotContains(t, h.flows.all(), bad.hostInterface())
	require.Len(t, h.leaseOwners(), 2)
	problems, _ := reports.List()
	require.Len(t, problems, 1)
	require.Equal(t, "Pod test/bad", problems[0].Subject.String())
}

func TestLoggedRequestIsBounded(t *testing.T) {
	in := validRequest()
	in.Args = strings.Repeat("K=V;", 1<<16)
	in.NetworkConfiguration = fmt.Appendf(nil, `{"name":%q}`, strings.Repeat("x", 1<<20))
	require.Less(t, len(fmt.Sprint(requestForLog(in)...)), 3*maxLoggedText)
	require.Equal(t, problem.KindPeer, requestSubject(in).Kind)
	require.Contains(t, loggedConfiguration(`[1]`).String(), "not a JSON object")
	require.JSONEq(t, `{"name":"x","args":"(not logged)"}`, loggedConfiguration(`{"name":"x","args":{"token":"t"}}`).String())
	require.NotPanics(t, func() { requestForLog(nil); requestSubject(nil) })
}

// Data that is not gRPC, or not a request, does not disturb later clients.
func TestGarbageOnTheSocket(t *testing.T) {
	h := newReadyHarness(t)
	h.serve()
	for name, data := range map[string][]byte{
		"nothing":            nil,
		"zeros":              make([]byte, 1<<16),
		"HTTP/1.1":           []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"preface and noise":  append([]byte(http2.ClientPreface), bytes.Repeat([]byte{0xff}, 1<<16)...),
		"preface and a half": []byte(http2.ClientPreface + "\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", h.server.cfg.Socket)
			require.NoError(t, err)
			_, _ = conn.Write(data)
			require.NoError(t, conn.Close())
		})
	}
	client := h.client()
	t.Run("a message that is no request", func(t *testing.T) {
		conn, err := grpc.NewClient("unix://"+h.server.cfg.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
		require.NoError(t, err)
		defer conn.Close()
		for _, data := range [][]byte{{0xff}, bytes.Repeat([]byte{0x0a}, 1000), {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}} {
			var reply []byte
			require.Error(t, conn.Invoke(t.Context(), cnipb.Cni_CmdAdd_FullMethodName, &data, &reply))
		}
	})
	t.Run("a message that is too large", func(t *testing.T) {
		in := validRequest()
		in.NetworkConfiguration = make([]byte, maxRequestSize+1)
		_, err := client.CmdAdd(t.Context(), in)
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
	})
	_, err := client.CmdDel(t.Context(), h.request(h.newPod("web")))
	require.NoError(t, err)
}

// grpcHeaders is the header block of a call.
func grpcHeaders(method string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "localhost"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	return block.Bytes()
}

// rawCodec sends bytes unchanged.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (rawCodec) Name() string                       { return "proto" }

// Clients that start and never finish are dropped, and do not keep others out.
func TestClientsThatNeverFinish(t *testing.T) {
	requireNamespaces(t)
	short := connectionTimes{handshake: 50 * time.Millisecond, idle: 50 * time.Millisecond, age: 50 * time.Millisecond, request: 50 * time.Millisecond}
	socket := filepath.Join(t.TempDir(), "cni.sock")
	listener, err := listen(socket)
	require.NoError(t, err)
	server := newGRPCServer(short)
	cnipb.RegisterCniServer(server, cnipb.UnimplementedCniServer{})
	served := make(chan error, 1)
	go func() { served <- serveLimited(server, listener) }()
	defer func() {
		server.Stop()
		require.NoError(t, <-served)
	}()

	begin := map[string]func(net.Conn){
		"sends nothing":        func(net.Conn) {},
		"stops in the preface": func(c net.Conn) { _, _ = c.Write([]byte(http2.ClientPreface[:10])) },
		"never asks": func(c net.Conn) {
			_, _ = c.Write([]byte(http2.ClientPreface))
			_ = http2.NewFramer(c, c).WriteSettings()
		},
		"announces a request and never sends it": func(c net.Conn) {
			_, _ = c.Write([]byte(http2.ClientPreface))
			f := http2.NewFramer(c, c)
			_ = f.WriteSettings()
			_ = f.WriteSettingsAck()
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: grpcHeaders(cnipb.Cni_CmdAdd_FullMethodName)})
			_ = f.WriteData(1, false, []byte{0, 0, 0, 1, 0, 'x'})
		},
	}
	for name, start := range begin {
		t.Run(name, func(t *testing.T) {
			var conns []net.Conn
			for range 50 {
				conn, err := net.Dial("unix", socket)
				require.NoError(t, err)
				defer conn.Close()
				start(conn)
				conns = append(conns, conn)
			}
			for _, conn := range conns {
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
				_, err := io.Copy(io.Discard, conn)
				if timeout := net.Error(nil); err != nil {
					require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the server holds the connection: %v", err)
				}
			}
		})
	}
}

func TestManyConnectionsAtOnce(t *testing.T) {
	h := newReadyHarness(t)
	h.serve()
	request := h.request(h.newPod("web"))
	request.NetworkConfiguration = []byte("{")
	var waiting []net.Conn
	for range maxConnections { // they take all places, until the server drops them
		conn, err := net.Dial("unix", h.server.cfg.Socket)
		require.NoError(t, err)
		waiting = append(waiting, conn)
	}
	answered := make(chan error, 1)
	go func() {
		response, err := h.client().CmdDel(context.Background(), request)
		if err == nil && response.Error.GetCode() != cnipb.ErrorCode_DECODING_FAILURE {
			err = fmt.Errorf("unexpected answer %v", response)
		}
		answered <- err
	}()
	for _, conn := range waiting {
		conn.Close()
	}
	require.NoError(t, <-answered)

	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			response, err := h.client().CmdDel(context.Background(), request)
			if err != nil || response.Error.GetCode() != cnipb.ErrorCode_DECODING_FAILURE {
				t.Errorf("got %v, %v", response, err)
			}
		})
	}
	all.Wait()
}
