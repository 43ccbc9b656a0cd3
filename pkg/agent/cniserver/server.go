// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

const (
	defaultNetworkReadyTimeout = 30 * time.Second
	// ofPortTimeout limits the time in which ovs-vswitchd must bring up a port. On a busy Node its main thread can need
	// 5 s for one round. An ADD that gives up makes the runtime start again, which is more work for it. The plugin
	// gives up after 60 s.
	ofPortTimeout = 20 * time.Second
	// undoTimeout bounds the undoing of a failed ADD, which continues after the runtime has given up.
	undoTimeout = 30 * time.Second
)

// PodPorts is the part of the bridge that the server needs; ovsconfig.BridgeClient implements it.
type PodPorts interface {
	CreatePort(name string, externalIDs map[string]string) (string, error)
	DeletePort(name string) error
	GetOFPort(ctx context.Context, name string) (uint32, error)
	RequestOFPort(name string, ofPort uint32) error
	GetPort(name string) (*ovsconfig.Port, bool, error)
	GetExternalIDs() (map[string]string, error)
	SetExternalID(key, value string) error
}

// PodFlows is the part of the OpenFlow pipeline that the server needs; openflow.Client implements it.
type PodFlows interface {
	InstallPodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error
	ClosePodFlows(ctx context.Context, interfaceName string, ips []netip.Addr, mac net.HardwareAddr, ofPort uint32) error
	UninstallPodFlows(ctx context.Context, interfaceName string) error
}

// Interfaces is the part of the interface store that the server needs; interfacestore.InterfaceStore implements it.
type Interfaces interface {
	AddInterface(*interfacestore.InterfaceConfig)
	DeleteInterface(*interfacestore.InterfaceConfig)
	GetInterfaceByName(name string) (*interfacestore.InterfaceConfig, bool)
	GetContainerInterface(containerID string) (*interfacestore.InterfaceConfig, bool)
	GetInterfaceByIP(netip.Addr) (*interfacestore.InterfaceConfig, bool)
	GetInterfacesByType(interfacestore.InterfaceType) []*interfacestore.InterfaceConfig
}

// PodPolicies is the part of NetworkPolicy that the server needs.
type PodPolicies interface {
	// PodArrives returns once the known policies of the interface's Pod are in force. If an error has a method Lasting that
	// returns true, these policies and isolation are refused, and there is no use in asking again at once.
	PodArrives(*interfacestore.InterfaceConfig) error
	// PodLeaves undoes PodArrives.
	PodLeaves(*interfacestore.InterfaceConfig)
}

// Config is the server's configuration. Socket and Node are required.
type Config struct {
	// Socket is the path of the unix socket; its directory is created with mode 0750 if absent.
	Socket string
	// HostProcPathPrefix is prepended to paths of network namespaces when the result exists ("/host" in the agent's image).
	HostProcPathPrefix string
	// Node has the name, the Pod CIDRs and the MTU.
	Node *config.NodeConfig
	// PodInterfaceType is the type for new Pods; "" is config.PodInterfaceVeth.
	PodInterfaceType config.PodInterfaceType
	// DisableTXChecksumOffload disables TX checksum offload in every new Pod.
	DisableTXChecksumOffload bool
	// Policies, if set, are put in force before a Pod is connected.
	Policies PodPolicies
	// IPAMDataDir is the directory of host-local's leases, regardless of the CNI configuration. With "" the CNI
	// configuration decides; its default is /var/lib/cni/networks.
	IPAMDataDir string
	// Reconfigure makes Open vSwitch add devices again that are in its database but not in the kernel's datapath. It is nil with another datapath.
	Reconfigure func(context.Context) error
}

// Server is the CNI server. Create it with New; it then serves until the context of Run ends.
type Server struct {
	cnipb.UnimplementedCniServer

	cfg   Config
	ports PodPorts
	flows PodFlows
	store Interfaces
	ipam  *hostLocal
	// leases knows where ipam has leased addresses.
	leases *leaseDirs

	// closed are Pods that wait for their policies.
	closed closedPods

	networkReady        <-chan struct{}
	networkReadyTimeout time.Duration

	// containerLocks and nameLocks are always taken in this order.
	containerLocks *keyedLocks
	nameLocks      *keyedLocks

	// stopping closes when Run starts to shut down; background counts goroutines that outlive a request.
	stopping   context.Context
	stop       context.CancelFunc
	background sync.WaitGroup

	// afterStep, if set, is called by did.
	afterStep func(step string)
}

// New returns a server that does nothing before Run. ADD waits until networkReady is closed. The caller closes it once
// flows are restored, policies are in place and Reconcile has succeeded. New fails when the kernel does not support the
// configured type of Pod interface.
func New(cfg Config, ports PodPorts, flows PodFlows, store Interfaces, networkReady <-chan struct{}) (*Server, error) {
	if cfg.Socket == "" {
		return nil, errors.New("CNI server: the socket path is empty, want for example /var/run/antrea/cni.sock")
	}
	var podCIDRs []netip.Prefix
	for _, cidr := range []netip.Prefix{cfg.Node.PodIPv4CIDR, cfg.Node.PodIPv6CIDR} {
		if cidr.IsValid() {
			podCIDRs = append(podCIDRs, cidr.Masked())
		}
	}
	if len(podCIDRs) == 0 {
		return nil, errors.New("CNI server: the Node has no Pod CIDR")
	}
	if cfg.PodInterfaceType == config.PodInterfaceNetkit {
		if err := probeNetkit(); err != nil {
			return nil, err
		}
	}
	s := &Server{
		cfg:                 cfg,
		ports:               ports,
		flows:               flows,
		store:               store,
		ipam:                &hostLocal{podCIDRs: podCIDRs, dataDir: cfg.IPAMDataDir, fallbackDir: defaultPluginDir},
		leases:              &leaseDirs{ports: ports, installed: leaseDir{networkName, filepath.Clean(cmp.Or(cfg.IPAMDataDir, defaultLeaseDir))}},
		networkReady:        networkReady,
		networkReadyTimeout: defaultNetworkReadyTimeout,
		containerLocks:      newKeyedLocks(),
		nameLocks:           newKeyedLocks(),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// CmdAdd implements the gRPC service. It returns no gRPC error: failures are CNI errors in the response.
func (s *Server) CmdAdd(ctx context.Context, in *cnipb.CniCmdRequest) (*cnipb.CniCmdResponse, error) {
	return s.serve(cmdAdd, in, func(req *request) ([]byte, error) {
		result, err := s.add(ctx, req)
		if err != nil {
			return nil, err
		}
		return encodeResult(req, result)
	})
}

// CmdCheck implements the gRPC service, as CmdAdd does.
func (s *Server) CmdCheck(ctx context.Context, in *cnipb.CniCmdRequest) (*cnipb.CniCmdResponse, error) {
	return s.serve(cmdCheck, in, func(req *request) ([]byte, error) { return nil, s.check(ctx, req) })
}

// CmdDel implements the gRPC service, as CmdAdd does.
func (s *Server) CmdDel(ctx context.Context, in *cnipb.CniCmdRequest) (*cnipb.CniCmdResponse, error) {
	return s.serve(cmdDel, in, func(req *request) ([]byte, error) { return nil, s.del(ctx, req) })
}

func (s *Server) serve(cmd command, in *cnipb.CniCmdRequest, run func(*request) ([]byte, error)) (*cnipb.CniCmdResponse, error) {
	start := time.Now()
	req, err := parseRequest(cmd, in)
	var result []byte
	if err == nil {
		result, err = run(req)
	}
	if err != nil {
		response := errorResponse(err)
		klog.ErrorS(err, "CNI request failed", "command", cmd, "container", in.GetContainerId(), "args", in.GetArgs(),
			"interface", in.GetIfname(), "netns", in.GetNetns(), "code", response.Error.Code, "duration", time.Since(start))
		return response, nil
	}
	klog.InfoS("CNI request succeeded", "command", cmd, "container", req.containerID, "pod", klog.KRef(req.podNamespace, req.podName),
		"interface", req.hostInterface, "duration", time.Since(start))
	return &cnipb.CniCmdResponse{CniResult: result}, nil
}

// lockContainer serializes everything that concerns one container.
func (s *Server) lockContainer(ctx context.Context, containerID string) (unlock func(), err error) {
	if unlock, err = s.containerLocks.lock(ctx, containerID); err != nil {
		return nil, errorf(cnipb.ErrorCode_TRY_AGAIN_LATER, "another request for container %q is still running: %w", containerID, err)
	}
	return unlock, nil
}

// lockName serializes everything that concerns one host interface: different containers can have the same name for it.
func (s *Server) lockName(ctx context.Context, name string) (unlock func(), err error) {
	if unlock, err = s.nameLocks.lock(ctx, name); err != nil {
		return nil, errorf(cnipb.ErrorCode_TRY_AGAIN_LATER, "another request for host interface %s is still running: %w", name, err)
	}
	return unlock, nil
}
