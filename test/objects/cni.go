// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/cniserver"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	"github.com/antrea-oncache/antrea/test/policy"
)

// hostLocalScript replaces host-local: the container's ID determines the Pod's address.
const hostLocalScript = `#!/bin/sh
[ "$CNI_COMMAND" = ADD ] || exit 0
host=${CNI_CONTAINERID##*-} rest=${CNI_CONTAINERID%-*}
node=${rest##*-}
echo '{"cniVersion":"1.0.0","ips":[{"address":"10.10.'$node.$host'/24","gateway":"10.10.'$node'.1"}]}'
`

// Runtime is the part of a container runtime that CNI requests need: network namespaces, and a directory of plugins. It
// is the same for all worlds.
type Runtime struct {
	plugins string
	netns   map[string]string
}

// NewRuntime needs root, and a mount namespace of its own. dir is for its files.
func NewRuntime(dir string) (*Runtime, error) {
	r := &Runtime{plugins: filepath.Join(dir, "plugins"), netns: map[string]string{}}
	if err := os.Mkdir(r.plugins, 0o755); err != nil {
		return nil, err
	}
	return r, os.WriteFile(filepath.Join(r.plugins, "host-local"), []byte(hostLocalScript), 0o755)
}

// Close unmounts everything that was mounted.
func (r *Runtime) Close() (err error) {
	for _, path := range r.netns {
		err = errors.Join(err, unix.Unmount(path, unix.MNT_DETACH))
	}
	return err
}

// namespace returns the path of the network namespace with that name. If there is none, it is made.
func (r *Runtime) namespace(name string) (string, error) {
	if path := r.netns[name]; path != "" {
		return path, nil
	}
	path := filepath.Join(filepath.Dir(r.plugins), name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return "", err
	}
	done := make(chan error)
	go func() {
		// The thread stays locked and ends with the goroutine: no other goroutine may run in its namespace.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), path, "", unix.MS_BIND, "")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return "", fmt.Errorf("make network namespace %s: %w", path, err)
	}
	r.netns[name] = path
	return path, nil
}

// containerID contains the Pod's address, for hostLocalScript.
func containerID(pod *policy.Pod) string {
	octets := pod.IPv4.As4()
	return fmt.Sprintf("sandbox-%s-%s-%d-%d", pod.Namespace, pod.Name, octets[2], octets[3])
}

func interfaceOf(pod *policy.Pod) string {
	return cniserver.HostInterfaceName(pod.Name, containerID(pod), "eth0")
}

// request returns the runtime's request for a Pod.
func (r *Runtime) request(pod *policy.Pod) (*cnipb.CniCmdRequest, error) {
	netns, err := r.namespace(pod.Namespace + "-" + pod.Name)
	if err != nil {
		return nil, err
	}
	conf, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": "antrea", "type": "antrea", "ipam": map[string]any{"type": "host-local"}})
	return &cnipb.CniCmdRequest{
		ContainerId: containerID(pod), Netns: netns, Ifname: "eth0", Path: r.plugins, NetworkConfiguration: conf,
		Args: fmt.Sprintf("IgnoreUnknown=1;K8S_POD_NAMESPACE=%s;K8S_POD_NAME=%s", pod.Namespace, pod.Name),
	}, err
}

// errPanic is the error of a request that has made the server panic, which would end an agent.
var errPanic = errors.New("the agent has panicked")

type command func(context.Context, *cnipb.CniCmdRequest) (*cnipb.CniCmdResponse, error)

// ask sends a request and returns the error that it causes.
func ask(do command, in *cnipb.CniCmdRequest) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	response, err := do(context.Background(), in)
	if err == nil && response.Error != nil {
		err = errors.New(response.Error.Message)
	}
	return err
}

// connect connects a Pod.
func (h *host) connect(r *Runtime, pod *policy.Pod) error {
	in, err := r.request(pod)
	if err != nil {
		return err
	}
	return ask(h.cni.CmdAdd, in)
}

// disconnect undoes connect.
func (h *host) disconnect(r *Runtime, pod *policy.Pod) error {
	in, err := r.request(pod)
	if err != nil {
		return err
	}
	return ask(h.cni.CmdDel, in)
}

// interfaceConfig returns the bridge's data about the Pod's interface; nil if it is not connected.
func (h *host) interfaceConfig(pod *policy.Pod) *interfacestore.InterfaceConfig {
	port, ok, err := h.bridge.GetPort(interfaceOf(pod))
	if err != nil || !ok {
		return nil
	}
	c, err := cniserver.InterfaceFromPort(port)
	if err != nil {
		return nil
	}
	return c
}

// removeDevices deletes all devices of Pods.
func (h *host) removeDevices() error {
	ports, err := h.bridge.ListPorts()
	for _, port := range ports {
		link, linkErr := netlink.LinkByName(port.Name)
		if linkErr == nil {
			err = errors.Join(err, netlink.LinkDel(link))
		}
	}
	return err
}
