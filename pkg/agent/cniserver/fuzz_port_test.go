// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// FuzzPort feeds arbitrary external_ids of a port to the restoring of the interface store, as a JSON object. A port is refused, with its name
// and the key, or it is a Pod's interface that is written in the same way again.
func FuzzPort(f *testing.F) {
	for _, ids := range []map[string]string{
		{externalIDType: "container", externalIDMAC: "aa:bb:cc:dd:ee:ff", externalIDIPs: "10.10.1.2,fd00::2", externalIDContainerID: "c", externalIDPodName: "web", externalIDPodNamespace: "default", externalIDNetNS: "/n"},
		{externalIDType: "container", externalIDMAC: "02:00:5e:10:00:00:00:01", externalIDIPs: "10.10.1.2", externalIDContainerID: "c", externalIDPodName: "web", externalIDPodNamespace: "default", externalIDIFDev: "net1"},
		{externalIDType: "container", externalIDMAC: "aabb.ccdd.eeff", externalIDIPs: "fe80::1%eth0,::ffff:10.0.0.1", externalIDContainerID: "c", externalIDPodName: "web", externalIDPodNamespace: "default"},
		{externalIDType: "gateway"},
	} {
		text, err := json.Marshal(ids)
		require.NoError(f, err)
		f.Add("web-000000", text)
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		var ids map[string]string
		if json.Unmarshal(text, &ids) != nil {
			return
		}
		port := &ovsconfig.Port{Name: name, UUID: "u", OFPort: 5, ExternalIDs: ids}
		var c *interfacestore.InterfaceConfig
		var err error
		appetite.Bounded(t, len(text), 64, func() { c, err = InterfaceFromPort(port) })
		if err != nil {
			require.ErrorContains(t, err, "OVS port "+name+": external_ids ")
			return
		}
		require.Len(t, c.MAC, 6)
		require.NotEmpty(t, c.IPs)
		for _, ip := range c.IPs {
			require.True(t, ip.IsValid() && ip.Zone() == "" && !ip.Is4In6(), "%v", ip)
		}
		again, err := InterfaceFromPort(&ovsconfig.Port{Name: name, UUID: "u", OFPort: 5, ExternalIDs: PortExternalIDs(c)})
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

// bridgeIDs are the external_ids of a bridge.
type bridgeIDs struct {
	PodPorts
	ids map[string]string
}

func (b bridgeIDs) GetExternalIDs() (map[string]string, error) { return maps.Clone(b.ids), nil }
func (b bridgeIDs) SetExternalID(key, value string) error      { b.ids[key] = value; return nil }

// FuzzLeaseDirectories reads arbitrary external_ids that say where addresses are leased. No directory is outside of the one that it names, and
// what is written back is read in the same way.
func FuzzLeaseDirectories(f *testing.F) {
	f.Add([]byte(`[{"network":"a","dataDir":"/var/lib/cni/networks"},{"network":"..","dataDir":"/"},{"network":"a/b","dataDir":"/x"},{"network":"","dataDir":""},{"network":"/","dataDir":"/x"}]`))
	f.Add([]byte(`[{"network":"antrea","dataDir":"/x/../y"}]`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`[` + strings.Repeat(`{"network":"a","dataDir":"/b"},`, 2*maxLeaseDirs) + `{"network":"c","dataDir":"/b"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := bridgeIDs{ids: map[string]string{leasesKey: string(text)}}
		l := &leaseDirs{ports: b, installed: leaseDir{networkName, defaultLeaseDir}}
		dirs, err := l.all()
		require.NoError(t, err)
		require.Equal(t, l.installed, dirs[0])
		require.LessOrEqual(t, len(dirs), 1+maxLeaseDirs)
		for _, d := range dirs {
			require.True(t, filepath.IsAbs(d.path()), "%v", d)
			require.Equal(t, filepath.Clean(d.DataDir), filepath.Dir(d.path()), "%v", d)
		}
		require.NoError(t, l.save(dirs[1:]))
		again, err := (&leaseDirs{ports: b, installed: l.installed}).all()
		require.NoError(t, err)
		require.Equal(t, dirs, again)
	})
}
