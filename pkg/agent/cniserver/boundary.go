// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

const (
	boundaryName = "cni"

	// maxRequestSize is the maximum size of a request in bytes. A network configuration with its prevResult has a few
	// thousand.
	maxRequestSize = 1 << 20
	// maxConnections bounds connections to the socket. The plugin opens one per command; surplus connections wait.
	maxConnections = 1024
	// maxRequestsPerConnection bounds the concurrent requests of one connection.
	maxRequestsPerConnection = 100
	// handshakeTimeout applies to the first bytes that a client sends.
	handshakeTimeout = 10 * time.Second
	// idleTimeout closes connections without a request; maxConnectionAge and maxRequestAge close connections whose
	// request never ends. The plugin gives up after 60 s.
	idleTimeout      = time.Minute
	maxConnectionAge = 2 * time.Minute
	maxRequestAge    = 2 * time.Minute

	// maxLoggedText bounds the length of each logged value of a request, in bytes.
	maxLoggedText = 4 << 10
)

// newGRPCServer makes the server with its limits; t are the times after which it drops clients.
func newGRPCServer(t connectionTimes) *grpc.Server {
	return grpc.NewServer(
		grpc.UnaryInterceptor(recoverRequest),
		grpc.MaxRecvMsgSize(maxRequestSize),
		grpc.MaxConcurrentStreams(maxRequestsPerConnection),
		grpc.ConnectionTimeout(t.handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: t.idle, MaxConnectionAge: t.age, MaxConnectionAgeGrace: t.request,
		}),
	)
}

// serveLimited serves at most maxConnections at a time.
func serveLimited(server *grpc.Server, listener net.Listener) error {
	return server.Serve(netutil.LimitListener(listener, maxConnections))
}

// connectionTimes are the constants above; tests shorten them.
type connectionTimes struct{ handshake, idle, age, request time.Duration }

var defaultConnectionTimes = connectionTimes{handshakeTimeout, idleTimeout, maxConnectionAge, maxRequestAge}

// recoverRequest answers a request that makes the agent panic with a CNI error, so that a runtime that tries again gets the
// same answer and not another crash.
func recoverRequest(ctx context.Context, in any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	request, _ := in.(*cnipb.CniCmdRequest)
	var handlerErr error
	panicked := recovery.Call(boundaryName, requestSubject(request), func() error {
		response, handlerErr = handler(ctx, in)
		return nil
	}, append([]any{"command", path.Base(info.FullMethod)}, requestForLog(request)...)...)
	if panicked != nil {
		return errorResponse(panicked), nil
	}
	return response, handlerErr
}

// requestSubject is the Pod, or the runtime when the request does not name a Pod.
func requestSubject(in *cnipb.CniCmdRequest) problem.Subject {
	args, err := parseArgs(in.GetArgs())
	if err != nil || args[argPodName] == "" || len(in.GetArgs()) > maxLoggedText {
		return problem.Subject{Kind: problem.KindPeer, Name: "container runtime"}
	}
	return problem.Subject{Kind: "Pod", Namespace: args[argPodNamespace], Name: args[argPodName]}
}

func requestForLog(in *cnipb.CniCmdRequest) []any {
	return []any{
		"container", shortened(in.GetContainerId()), "netns", shortened(in.GetNetns()), "interface", shortened(in.GetIfname()),
		"args", shortened(in.GetArgs()), "path", shortened(in.GetPath()), "configuration", loggedConfiguration(in.GetNetworkConfiguration()),
	}
}

func shortened(s string) string {
	if len(s) <= maxLoggedText {
		return s
	}
	return strings.ToValidUTF8(s[:maxLoggedText], "") + "..."
}

// loggedKeys are the keys that the agent itself uses. Others may be secrets of other plugins in the chain.
var loggedKeys = []string{"cniVersion", "name", "type", "mtu", "ipam", "dns", "prevResult"}

// loggedConfiguration is a network configuration in a form that may be logged. Formatting costs nothing until then.
type loggedConfiguration []byte

func (c loggedConfiguration) String() string {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(c, &keys); err != nil {
		return fmt.Sprintf("%d bytes that are not a JSON object: %v", len(c), err)
	}
	for key := range keys {
		if !slices.Contains(loggedKeys, key) {
			keys[key] = json.RawMessage(`"(not logged)"`)
		}
	}
	encoded, err := json.Marshal(keys)
	if err != nil {
		return err.Error()
	}
	return shortened(string(encoded))
}
