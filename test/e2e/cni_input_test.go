// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	cniPlugin   = "/opt/cni/bin/antrea"
	goodCNIConf = `{"cniVersion":"0.4.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}`
	cniNetNS    = "/var/run/netns/e2e-cni"
	goodCNIArgs = "IgnoreUnknown=1;K8S_POD_NAMESPACE=e2e;K8S_POD_NAME=by-hand;K8S_POD_INFRA_CONTAINER_ID=abc"
)

// cniCall is a correct call of the plugin, except for what a test changes.
type cniCall struct{ command, container, netns, ifname, args, conf string }

func goodCNICall(command string) cniCall {
	return cniCall{command, "0123456789abcdef", cniNetNS, "eth0", goodCNIArgs, goodCNIConf}
}

// invalidADDs are ADD calls with one thing wrong, and the error code; 0 for any.
var invalidADDs = []struct {
	name   string
	code   uint
	change func(*cniCall)
}{
	{"NotJSON", types.ErrDecodingFailure, func(c *cniCall) { c.conf = "{" }},
	{"UnknownVersion", types.ErrIncompatibleCNIVersion, func(c *cniCall) { c.conf = strings.Replace(c.conf, "0.4.0", "9.9.9", 1) }},
	{"NoNetworkName", types.ErrInvalidNetworkConfig, func(c *cniCall) { c.conf = strings.Replace(c.conf, `"antrea"`, `""`, 1) }},
	{"NoIPAM", types.ErrInvalidNetworkConfig, func(c *cniCall) { c.conf = strings.Replace(c.conf, "host-local", "", 1) }},
	{"OtherIPAM", types.ErrUnsupportedField, func(c *cniCall) { c.conf = strings.Replace(c.conf, "host-local", "dhcp", 1) }},
	{"MTUOutOfRange", types.ErrInvalidNetworkConfig, func(c *cniCall) { c.conf = strings.Replace(c.conf, "{", `{"mtu":10,`, 1) }},
	{"NoContainerID", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.container = "" }},
	{"ContainerIDThatIsAPath", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.container = "../../etc" }},
	{"NoPodName", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=e2e" }},
	{"NoPodNamespace", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.args = "IgnoreUnknown=1;K8S_POD_NAME=by-hand" }},
	{"PodNameThatIsNone", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.args = strings.Replace(c.args, "by-hand", "../by", 1) }},
	{"NoNetNS", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.netns = "" }},
	{"NetNSThatDoesNotExist", 0, func(c *cniCall) { c.netns += "-missing" }},
	{"NetNSThatIsAFile", 0, func(c *cniCall) { c.netns = "/etc/hostname" }},
	{"InterfaceNameTooLong", types.ErrInvalidEnvironmentVariables, func(c *cniCall) { c.ifname = "averyveryverylongname" }},
	{"InterfaceThatExists", 102, func(c *cniCall) { c.ifname = "lo" }},
}

// testCNIInput calls the plugin with input that a runtime should not give: the error has the specification's code, and
// nothing remains on the Node.
func testCNIInput(t *testing.T, s *suite) {
	shell(t, s.node1.Space, "ip netns add e2e-cni")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), execTimeout)
		defer cancel()
		_, err := s.node1.Exec(ctx, "ip", "netns", "del", "e2e-cni")
		require.NoError(t, err)
	})
	before := nodeState(t, s.node1)
	for _, c := range invalidADDs {
		t.Run(c.name, func(t *testing.T) {
			call := goodCNICall("ADD")
			c.change(&call)
			err := call.run(t, s.node1)
			require.NotNil(t, err, "ADD should fail")
			if c.code != 0 {
				require.Equal(t, c.code, err.Code, "%+v", err)
			} else {
				require.NotZero(t, err.Code, "%+v", err)
			}
			require.NotEmpty(t, err.Msg)
			require.Equal(t, before, nodeState(t, s.node1), "something is left of an ADD that failed")
		})
	}
	t.Run("AddTwiceCheckAndDeleteTwice", func(t *testing.T) { testRepeatedCNICalls(t, s, before) })
	t.Run("DeleteOfSomethingUnknown", func(t *testing.T) {
		del := goodCNICall("DEL")
		del.container, del.netns = "feedfeed", ""
		require.Nil(t, del.run(t, s.node1))
		require.Equal(t, before, nodeState(t, s.node1))
	})
	t.Run("DeleteOfAnotherContainersInterface", func(t *testing.T) {
		del := goodCNICall("DEL")
		del.container = "feedfeed"
		del.args = strings.Replace(goodCNIArgs, "by-hand", "client", 1)
		require.Nil(t, del.run(t, s.node1))
		require.Equal(t, before, nodeState(t, s.node1))
	})
	t.Run("AgentAway", func(t *testing.T) {
		require.NoError(t, s.node1.StopAgent())
		defer s.startAgent(t, s.node1)
		add := goodCNICall("ADD")
		err := add.run(t, s.node1)
		require.NotNil(t, err)
		require.EqualValues(t, types.ErrTryAgainLater, err.Code)
		require.Equal(t, before, nodeState(t, s.node1))
	})
}

func testRepeatedCNICalls(t *testing.T, s *suite, before string) {
	add, del := goodCNICall("ADD"), goodCNICall("DEL")
	first, err := add.call(t, s.node1)
	require.Nil(t, err, "%+v", err)
	second, err := add.call(t, s.node1)
	require.Nil(t, err, "%+v", err)
	require.Equal(t, first, second, "the second ADD gives the result of the first")
	require.NotEqual(t, before, nodeState(t, s.node1))

	check := goodCNICall("CHECK")
	check.conf = strings.Replace(goodCNIConf, "{", `{"prevResult":`+first+`,`, 1)
	require.Nil(t, check.run(t, s.node1))
	shell(t, s.node1.Space, "ip -n e2e-cni link set eth0 down")
	err = check.run(t, s.node1)
	require.NotNil(t, err, "CHECK of an interface that is down")
	require.EqualValues(t, 103, err.Code)

	require.Nil(t, del.run(t, s.node1))
	require.Equal(t, before, nodeState(t, s.node1))
	require.Nil(t, del.run(t, s.node1))
}

// run returns the error that the plugin prints, nil for success.
func (c cniCall) run(t *testing.T, n *cluster.Node) *types.Error {
	t.Helper()
	_, err := c.call(t, n)
	return err
}

func (c cniCall) call(t *testing.T, n *cluster.Node) (output string, failed *types.Error) {
	t.Helper()
	require.NoError(t, n.WriteFile("/run/e2e/cni.json", []byte(c.conf)))
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	out, err := n.Exec(ctx, "env", "CNI_COMMAND="+c.command, "CNI_CONTAINERID="+c.container, "CNI_NETNS="+c.netns,
		"CNI_IFNAME="+c.ifname, "CNI_ARGS="+c.args, "CNI_PATH=/opt/cni/bin", "sh", "-c", cniPlugin+" </run/e2e/cni.json")
	if err == nil {
		return out, nil
	}
	var exit *cluster.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	failed = &types.Error{}
	require.NoError(t, json.Unmarshal([]byte(exit.Stdout), failed), "the plugin must print an error object: %v", err)
	return "", failed
}

// nodeState returns what an ADD changes: links, ports, flows, leases.
func nodeState(t *testing.T, n *cluster.Node) string {
	t.Helper()
	return fmt.Sprintln(
		shell(t, n.Space, "ip -o link show | sed 's/.* \\([^ ]*\\)@.*/\\1/;s/^[0-9]*: \\([^:]*\\):.*/\\1/' | sort"),
		shell(t, n.Space, "ovs-vsctl list-ports br-int | sort"),
		shell(t, n.Space, "ovs-ofctl -O OpenFlow15 dump-flows --no-stats br-int | sed 's/cookie=[^,]*, //' | sort"),
		shell(t, n.Space, "cd "+cluster.IPAMDir+" && ls | grep -v -e lock -e last_reserved | sort"),
	)
}
