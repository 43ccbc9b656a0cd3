// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

const (
	// requestTimeout is longer than the 30 s that the agent lets ADD wait for the Node's network.
	requestTimeout = 60 * time.Second
	statusTimeout  = 5 * time.Second
	// codePluginNotAvailable is STATUS's error "cannot service ADD requests" (CNI specification 1.1.0).
	codePluginNotAvailable = 50
)

// plugin is a client of the agent that listens on the unix socket.
type plugin struct {
	socket string
	stdout io.Writer
}

// method is one of the methods of cnipb.CniClient.
type method func(cnipb.CniClient, context.Context, *cnipb.CniCmdRequest, ...grpc.CallOption) (*cnipb.CniCmdResponse, error)

func (p *plugin) add(args *skel.CmdArgs) error {
	response, err := p.call(cnipb.CniClient.CmdAdd, args)
	if err != nil {
		return err
	}
	if _, err := p.stdout.Write(response.GetCniResult()); err != nil {
		return types.NewError(types.ErrIOFailure, "write the result to standard output", err.Error())
	}
	return nil
}

func (p *plugin) check(args *skel.CmdArgs) error {
	_, err := p.call(cnipb.CniClient.CmdCheck, args)
	return err
}

func (p *plugin) del(args *skel.CmdArgs) error {
	_, err := p.call(cnipb.CniClient.CmdDel, args)
	return err
}

func (p *plugin) status(*skel.CmdArgs) error {
	conn, err := net.DialTimeout("unix", p.socket, statusTimeout)
	if err != nil {
		return types.NewError(codePluginNotAvailable, "the agent does not listen", err.Error())
	}
	return conn.Close()
}

// call's errors are all *types.Error.
func (p *plugin) call(m method, args *skel.CmdArgs) (*cnipb.CniCmdResponse, error) {
	// A passthrough target with its own dialer is not subject to proxies of the environment and escaping rules for paths.
	conn, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
		}))
	if err != nil {
		return nil, types.NewError(uint(cnipb.ErrorCode_UNKNOWN_RPC_ERROR), "create the gRPC client", err.Error())
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	response, err := m(cnipb.NewCniClient(conn), ctx, &cnipb.CniCmdRequest{
		ContainerId:          args.ContainerID,
		Netns:                args.Netns,
		Ifname:               args.IfName,
		Args:                 args.Args,
		Path:                 args.Path,
		NetworkConfiguration: args.StdinData,
	})
	if err != nil {
		return nil, p.fromStatus(status.Convert(err))
	}
	if e := response.GetError(); e != nil {
		return nil, types.NewError(uint(e.GetCode()), e.GetMessage(), e.GetDetails())
	}
	return response, nil
}

// fromStatus maps gRPC's own errors: the agent is away or slow (11), is another version (202), or anything else (201).
func (p *plugin) fromStatus(st *status.Status) *types.Error {
	switch st.Code() {
	case codes.Unavailable, codes.DeadlineExceeded:
		return types.NewError(types.ErrTryAgainLater, fmt.Sprintf("the agent does not answer on %s", p.socket), st.Message())
	case codes.Unimplemented:
		return types.NewError(uint(cnipb.ErrorCode_INCOMPATIBLE_API_VERSION), "the agent does not know the plugin's gRPC API", st.Message())
	default:
		return types.NewError(uint(cnipb.ErrorCode_UNKNOWN_RPC_ERROR), fmt.Sprintf("gRPC error %s", st.Code()), st.Message())
	}
}
