// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kerneldp looks at Open vSwitch's datapath in the kernel without ovs-vswitchd, and deletes it: when the agent is uninstalled,
// vswitchd has ended and its datapath is still there.
package kerneldp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

// Name is the datapath of all bridges of a vswitchd, and the name of its device.
const Name = "ovs-system"

// From include/uapi/linux/openvswitch.h.
const (
	datapathFamily, datapathVersion = "ovs_datapath", 2
	vportFamily, vportVersion       = "ovs_vport", 1
	commandDelete, commandGet       = 2, 3
	attributeName                   = 1 // OVS_DP_ATTR_NAME
	vportAttributeName              = 3 // OVS_VPORT_ATTR_NAME
	ovsHeaderLength                 = 4 // struct ovs_header: the index of the datapath's device
)

// Ports are the names of the devices in the datapath in the current network namespace, its own excepted. Found is false if there is no
// datapath; then nothing else has been asked, which would load the kernel module.
func Ports() (ports []string, found bool, err error) {
	device, err := find()
	if device == nil || err != nil {
		return nil, false, err
	}
	req, err := request(vportFamily, vportVersion, commandGet, device.Attrs().Index, unix.NLM_F_DUMP)
	if err != nil {
		return nil, false, err
	}
	messages, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return nil, false, fmt.Errorf("list the ports of datapath %s: %w", Name, err)
	}
	for _, m := range messages {
		name, err := portName(m)
		if err != nil {
			return nil, false, err
		}
		if name != Name {
			ports = append(ports, name)
		}
	}
	return ports, true, nil
}

// Exists reports whether there is a datapath in the current network namespace.
func Exists() (bool, error) {
	device, err := find()
	return device != nil, err
}

// find returns the device of the datapath, nil if there is none.
func find() (netlink.Link, error) {
	device, err := netlink.LinkByName(Name)
	if gone := (netlink.LinkNotFoundError{}); errors.As(err, &gone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the datapath %s: %w", Name, err)
	}
	return device, nil
}

// Delete deletes the datapath with its flows, meters and internal ports. Other devices are only released.
func Delete() error {
	req, err := request(datapathFamily, datapathVersion, commandDelete, 0, unix.NLM_F_ACK)
	if err != nil {
		return err
	}
	req.AddRawData(nl.NewRtAttr(attributeName, nl.ZeroTerminated(Name)).Serialize())
	if _, err := req.Execute(unix.NETLINK_GENERIC, 0); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete datapath %s: %w", Name, err)
	}
	return nil
}

// controlSocket is the address of the Unix socket of a vswitchd that runs, with its process id.
var controlSocket = regexp.MustCompile(`\S*/ovs-vswitchd\.\d+\.ctl$`)

// Vswitchds are the control sockets of all ovs-vswitchd processes in the current network namespace, in whatever container they run: the
// kernel lists the Unix sockets of a network namespace, under the paths that their owners see.
func Vswitchds() ([]string, error) {
	text, err := os.ReadFile("/proc/thread-self/net/unix")
	if err != nil {
		return nil, fmt.Errorf("look for ovs-vswitchd: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if socket := controlSocket.FindString(strings.TrimSpace(line)); socket != "" {
			found = append(found, socket)
		}
	}
	return found, nil
}

func request(family string, version uint8, command uint8, datapath, flags int) (*nl.NetlinkRequest, error) {
	f, err := netlink.GenlFamilyGet(family)
	if err != nil {
		return nil, fmt.Errorf("find the netlink family %s (is the kernel module openvswitch loaded?): %w", family, err)
	}
	req := nl.NewNetlinkRequest(int(f.ID), flags)
	req.AddData(&nl.Genlmsg{Command: command, Version: version})
	// Raw data follows all other data.
	header := make([]byte, ovsHeaderLength)
	nl.NativeEndian().PutUint32(header, uint32(datapath))
	req.AddRawData(header)
	return req, nil
}

func portName(message []byte) (string, error) {
	if len(message) < nl.SizeofGenlmsg+ovsHeaderLength {
		return "", fmt.Errorf("list the ports of datapath %s: an answer of %d bytes is too short", Name, len(message))
	}
	attributes, err := nlattr.Parse(message[nl.SizeofGenlmsg+ovsHeaderLength:])
	if err != nil {
		return "", fmt.Errorf("list the ports of datapath %s: %w", Name, err)
	}
	for _, a := range attributes {
		if a.Attr.Type == vportAttributeName {
			name, _, _ := bytes.Cut(a.Value, []byte{0})
			return string(name), nil
		}
	}
	return "", fmt.Errorf("list the ports of datapath %s: an answer has no name", Name)
}
