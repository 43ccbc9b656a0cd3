// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

const bridge = "br-int"

func connect(t *testing.T, o *ovstest.OVS) (*Connection, BridgeClient) {
	t.Helper()
	conn, err := NewOVSDBConnection(testContext(t), "unix:"+o.DBSocket)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn, NewBridgeClient(conn, bridge, WithDatapathType("netdev"))
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestBridgeIsCreatedOnceAndCorrected(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	_, err := c.GetExternalIDs()
	require.ErrorContains(t, err, `bridge "br-int" does not exist`)

	require.NoError(t, c.Create(testContext(t)))
	uuid := o.Vsctl("get", "bridge", bridge, "_uuid")
	mac := o.Vsctl("get", "bridge", bridge, "other_config:hwaddr")
	o.Vsctl("set", "bridge", bridge, "protocols=OpenFlow10", "fail_mode=standalone")
	require.NoError(t, c.Create(testContext(t)))
	require.Equal(t, uuid, o.Vsctl("get", "bridge", bridge, "_uuid"))
	require.Equal(t, mac, o.Vsctl("get", "bridge", bridge, "other_config:hwaddr"))
	require.Equal(t, "[OpenFlow10, OpenFlow13, OpenFlow15]", o.Vsctl("get", "bridge", bridge, "protocols"))
	require.Equal(t, "secure", o.Vsctl("get", "bridge", bridge, "fail_mode"))
	require.Equal(t, "netdev", o.Vsctl("get", "bridge", bridge, "datapath_type"))

	require.NoError(t, c.SetExternalID("round", "7"))
	require.NoError(t, c.SetExternalID("former", "1"))
	require.NoError(t, c.DeleteExternalID("former"))
	o.Vsctl("--no-wait", "del-br", bridge)
	require.NoError(t, c.Create(testContext(t)))
	require.Equal(t, "{round=\"7\"}", o.Vsctl("get", "bridge", bridge, "external_ids"), "what this client has noted returns with the bridge")

	require.NoError(t, c.Delete())
	require.NoError(t, c.Delete(), "deleting an absent bridge succeeds")
	require.Empty(t, o.Vsctl("list-br"))
}

func TestCreateWaitsForVswitchd(t *testing.T) {
	o := ovstest.Start(t)
	o.KillVswitchd()
	_, c := connect(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err := c.Create(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "wait for ovs-vswitchd")

	o.StartVswitchd()
	require.NoError(t, c.Create(testContext(t)))

	o.KillVswitchd()
	ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	require.Error(t, c.Create(ctx), "the datapath id left in the database does not prove that vswitchd runs")
	o.StartVswitchd()
}

func TestOVSSettings(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))

	require.NoError(t, c.SetOVSOtherConfig(map[string]string{"flow-restore-wait": "true", "max-revalidator": "200"}))
	require.NoError(t, c.SetOVSOtherConfig(map[string]string{"max-revalidator": "300"}))
	config, err := c.GetOVSOtherConfig()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"flow-restore-wait": "true", "max-revalidator": "300"}, config)
	require.NoError(t, c.DeleteOVSOtherConfig("flow-restore-wait", "absent"))
	config, err = c.GetOVSOtherConfig()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"max-revalidator": "300"}, config)

	require.NoError(t, c.SetExternalID("roundNum", "1"))
	require.NoError(t, c.SetExternalID("roundNum", "2"))
	require.NoError(t, c.SetExternalID("other", "x"))
	ids, err := c.GetExternalIDs()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"roundNum": "2", "other": "x"}, ids)

	version, err := c.Version()
	require.NoError(t, err)
	require.Regexp(t, `^\d+\.\d+`, version)
	capabilities, err := c.Capabilities()
	require.NoError(t, err)
	require.Equal(t, "true", capabilities["ct_state"])
}

func TestCapabilitiesNameTheMissingDatapath(t *testing.T) {
	o := ovstest.Start(t)
	conn, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	_, err := NewBridgeClient(conn, bridge).Capabilities()
	require.ErrorContains(t, err, `datapath "system"`)
	require.ErrorContains(t, err, "netdev")
}

func TestTableNamesAreReplacedOnlyWhenDifferent(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	requireNames := func(want map[uint8]string) {
		t.Helper()
		got, err := c.TableNames()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	requireNames(map[uint8]string{})
	names := map[uint8]string{0: "PipelineRootClassifier", 1: "ARPSpoofGuard", 254: "Output"}
	require.NoError(t, c.SetTableNames(names))
	requireNames(names)
	before := o.Vsctl("get", "bridge", bridge, "flow_tables")
	require.NoError(t, c.SetTableNames(names))
	require.Equal(t, before, o.Vsctl("get", "bridge", bridge, "flow_tables"))
	o.Ofctl("add-flow", bridge, "table=1,actions=drop")
	require.Contains(t, o.Ofctl("--names", "dump-flows", bridge), "table=ARPSpoofGuard")

	require.NoError(t, c.SetTableNames(map[uint8]string{0: "PipelineRootClassifier", 2: "Classifier"}))
	require.Eventually(t, func() bool {
		return strings.Contains(o.Ofctl("--names", "dump-flows", bridge), "table=1,")
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 2, len(strings.Fields(o.Vsctl("--bare", "--columns=name", "list", "Flow_Table"))))
	require.NoError(t, c.SetTableNames(nil))
	requireNames(map[uint8]string{})
}

func TestPorts(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	ctx := testContext(t)
	require.NoError(t, c.Create(ctx))

	mac := net.HardwareAddr{2, 1, 2, 3, 4, 5}
	gwUUID, err := c.CreateInternalPort("antrea-gw0", 32769, mac, map[string]string{"antrea-type": "gateway"})
	require.NoError(t, err)
	tunUUID, err := c.CreateTunnelPort("antrea-tun0", "geneve", 32768,
		map[string]string{"key": "flow", "remote_ip": "flow"}, map[string]string{"antrea-type": "tunnel"})
	require.NoError(t, err)
	_, err = c.CreatePort("no-such-device", nil)
	require.NoError(t, err)

	ofPort, err := c.GetOFPort(ctx, "antrea-gw0")
	require.NoError(t, err)
	require.EqualValues(t, 32769, ofPort)
	ofPort, err = c.GetOFPort(ctx, "antrea-tun0")
	require.NoError(t, err)
	require.EqualValues(t, 32768, ofPort)
	_, err = c.GetOFPort(ctx, "no-such-device")
	require.ErrorContains(t, err, "No such device", "the error column explains")
	_, err = c.GetOFPort(ctx, "absent")
	require.ErrorContains(t, err, `port "absent" does not exist on bridge "br-int"`)

	ports, err := c.ListPorts()
	require.NoError(t, err)
	require.Equal(t, []Port{
		{UUID: gwUUID, Name: "antrea-gw0", Type: "internal", OFPort: 32769, MAC: mac, ExternalIDs: map[string]string{"antrea-type": "gateway"}},
		{UUID: tunUUID, Name: "antrea-tun0", Type: "geneve", OFPort: 32768, ExternalIDs: map[string]string{"antrea-type": "tunnel"}, Options: map[string]string{"key": "flow", "remote_ip": "flow"}},
	}, ports[:2])
	require.Zero(t, ports[2].OFPort)

	_, err = c.CreatePort("antrea-gw0", nil)
	require.ErrorContains(t, err, `"antrea-gw0"`)
	require.ErrorContains(t, err, "exists already")
	_, err = c.CreatePort("a-name-of-17-byte", nil)
	require.ErrorContains(t, err, "want 1 to 15")

	require.NoError(t, c.SetInterfaceMTU("antrea-gw0", 1450))
	require.NoError(t, c.SetInterfaceMAC("antrea-gw0", net.HardwareAddr{2, 1, 2, 3, 4, 6}))
	require.NoError(t, c.SetPortExternalIDs("antrea-gw0", map[string]string{"antrea-type": "gateway", "x": "y"}))
	require.NoError(t, c.SetInterfaceOptions("antrea-tun0", map[string]string{"key": "flow", "remote_ip": "flow", "csum": "true"}))
	require.Equal(t, "1450", o.Vsctl("get", "interface", "antrea-gw0", "mtu_request"))
	gw, found, err := c.GetPort("antrea-gw0")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "02:01:02:03:04:06", gw.MAC.String())
	require.Equal(t, "y", gw.ExternalIDs["x"])
	require.Equal(t, "{csum=\"true\", key=flow, remote_ip=flow}", o.Vsctl("get", "interface", "antrea-tun0", "options"))
	require.ErrorContains(t, c.SetInterfaceMTU("absent", 1450), `"absent"`)

	require.NoError(t, c.DeletePort("no-such-device"))
	require.NoError(t, c.DeletePort("no-such-device"), "deleting an absent port succeeds")
	_, found, err = c.GetPort("no-such-device")
	require.NoError(t, err)
	require.False(t, found)
}

// TestOFPortsAreKept also where the database has no numbers any more: vswitchd clears them when the kernel's datapath is deleted.
func TestOFPortsAreKept(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	ctx := testContext(t)
	require.NoError(t, c.Create(ctx))
	given := map[string]uint32{}
	for _, name := range []string{"p7", "p3", "p9", "p1", "p8", "p2"} {
		_, err := c.CreateInternalPort(name, 0, net.HardwareAddr{2, 1, 2, 3, 4, name[1]}, nil)
		require.NoError(t, err)
		given[name], err = c.GetOFPort(ctx, name)
		require.NoError(t, err)
		require.NoError(t, c.RequestOFPort(name, given[name]))
	}
	o.KillVswitchd()
	for name := range given {
		o.Vsctl("--no-wait", "clear", "interface", name, "ofport")
	}
	o.StartVswitchd()
	o.Vsctl("set", "bridge", bridge, "external_ids:seen=yes") // returns when vswitchd has done it, and has written the numbers of ports
	for name, ofPort := range given {
		require.Equal(t, fmt.Sprint(ofPort), o.Vsctl("get", "interface", name, "ofport"), name)
	}
	require.ErrorContains(t, c.RequestOFPort("absent", 1), `"absent"`)
}

func TestPortOfAnotherBridgeIsNotTouched(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	o.AddBridge("br-other")
	o.Vsctl("--", "add-port", "br-other", "foreign", "--", "set", "interface", "foreign", "type=internal")
	require.NoError(t, c.SetExternalID("seen", "1")) // returns when the copy contains all earlier changes
	require.NoError(t, c.DeletePort("foreign"))
	require.Contains(t, o.Vsctl("list-ports", "br-other"), "foreign")
	_, found, err := c.GetPort("foreign")
	require.NoError(t, err)
	require.False(t, found)
	_, err = c.CreatePort("foreign", nil)
	require.ErrorContains(t, err, "exists already")
}

// TestNameTaken has the words of ovsdb-server for a port that another client added a moment before.
func TestNameTaken(t *testing.T) {
	refused := ovsdb.NewConstraintViolation(`Transaction causes multiple rows in "Interface" table to have identical values (foreign) for index on column "name".`)
	err := nameTaken(errors.Join(refused))
	require.ErrorContains(t, err, "exists already")
	require.ErrorAs(t, err, new(*ovsdb.ConstraintViolation))
	other := ovsdb.NewConstraintViolation("attempt to write out of range")
	require.Equal(t, other, nameTaken(other))
	require.NoError(t, nameTaken(nil))
}

func TestConcurrentPortChanges(t *testing.T) {
	o := ovstest.Start(t)
	_, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 10 {
				name := fmt.Sprintf("p%d-%d", worker, i)
				_, err := c.CreateInternalPort(name, 0, nil, nil)
				if err == nil {
					_, err = c.ListPorts()
				}
				if err == nil && i%2 == 0 {
					err = c.DeletePort(name)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ports, err := c.ListPorts()
	require.NoError(t, err)
	require.Len(t, ports, 20)
}
