// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

const validConf = `{"cniVersion":"0.3.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}`

func validRequest() *cnipb.CniCmdRequest {
	return &cnipb.CniCmdRequest{
		ContainerId:          "0123456789abcdef",
		Netns:                "/var/run/netns/x",
		Ifname:               "eth0",
		Args:                 "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=1-2",
		Path:                 "/opt/cni/bin",
		NetworkConfiguration: []byte(validConf),
	}
}

func TestParseRequest(t *testing.T) {
	req, err := parseRequest(cmdAdd, validRequest())
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", req.containerID)
	require.Equal(t, "/var/run/netns/x", req.netns)
	require.Equal(t, "eth0", req.ifname)
	require.Equal(t, "/opt/cni/bin", req.path)
	require.Equal(t, "web", req.podName)
	require.Equal(t, "default", req.podNamespace)
	require.Equal(t, HostInterfaceName("web", "0123456789abcdef", "eth0"), req.hostInterface)
	require.Equal(t, "0.3.0", req.conf.cniVersion)
	require.Equal(t, "antrea", req.conf.name)
	require.Zero(t, req.conf.mtu)
	require.Nil(t, req.conf.prevResult)
}

func TestParseRequestOfDelWithoutNetNSAndPod(t *testing.T) {
	in := validRequest()
	in.Netns, in.Args = "", ""
	in.NetworkConfiguration = []byte(`{"cniVersion":"1.0.0","name":"antrea","ipam":{"type":"host-local"},"prevResult":{"cniVersion":"9"}}`)
	req, err := parseRequest(cmdDel, in)
	require.NoError(t, err)
	require.Empty(t, req.hostInterface)
}

func TestParseRequestErrors(t *testing.T) {
	conf := func(s string) func(*cnipb.CniCmdRequest) {
		return func(r *cnipb.CniCmdRequest) { r.NetworkConfiguration = []byte(s) }
	}
	tests := []struct {
		name    string
		command command
		change  func(*cnipb.CniCmdRequest)
		code    cnipb.ErrorCode
		message string
	}{
		{"container ID missing", cmdAdd, func(r *cnipb.CniCmdRequest) { r.ContainerId = "" }, 4, "CNI_CONTAINERID is missing"},
		{"container ID missing in DEL", cmdDel, func(r *cnipb.CniCmdRequest) { r.ContainerId = "" }, 4, "CNI_CONTAINERID is missing"},
		{"container ID invalid", cmdAdd, func(r *cnipb.CniCmdRequest) { r.ContainerId = "../x" }, 4, `CNI_CONTAINERID "../x"`},
		{"netns missing", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Netns = "" }, 4, "CNI_NETNS is missing"},
		{"netns missing in CHECK", cmdCheck, func(r *cnipb.CniCmdRequest) { r.Netns = "" }, 4, "CNI_NETNS is missing"},
		{"ifname missing", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Ifname = "" }, 4, "CNI_IFNAME is missing"},
		{"ifname missing in DEL", cmdDel, func(r *cnipb.CniCmdRequest) { r.Ifname = "" }, 4, "CNI_IFNAME is missing"},
		{"ifname too long", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Ifname = "0123456789abcdef" }, 4, "too long"},
		{"ifname with slash", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Ifname = "a/b" }, 4, "contains /"},
		{"args malformed", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Args = "K8S_POD_NAME" }, 4, "want KEY=VALUE"},
		{"args malformed in DEL", cmdDel, func(r *cnipb.CniCmdRequest) { r.Args = "=x" }, 4, "want KEY=VALUE"},
		{"pod name missing", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Args = "K8S_POD_NAMESPACE=a" }, 4, "K8S_POD_NAME"},
		{"pod name invalid", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Args = "K8S_POD_NAMESPACE=a;K8S_POD_NAME=a/b" }, 4, "K8S_POD_NAME"},
		{"pod name invalid in DEL", cmdDel, func(r *cnipb.CniCmdRequest) { r.Args = "K8S_POD_NAME=a/b" }, 4, "K8S_POD_NAME"},
		{"namespace missing", cmdAdd, func(r *cnipb.CniCmdRequest) { r.Args = "K8S_POD_NAME=a" }, 4, "K8S_POD_NAMESPACE"},
		{"configuration empty", cmdAdd, conf(""), 6, "decode network configuration"},
		{"configuration malformed", cmdAdd, conf("{"), 6, "decode network configuration"},
		{"configuration of the wrong type", cmdAdd, conf(`{"name":1}`), 6, "decode network configuration"},
		{"version missing", cmdAdd, conf(`{"name":"antrea","ipam":{"type":"host-local"}}`), 1, `cniVersion ""`},
		{"version too old", cmdAdd, conf(`{"cniVersion":"0.2.0","name":"antrea","ipam":{"type":"host-local"}}`), 1, "want one of 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"},
		{"version unknown", cmdDel, conf(`{"cniVersion":"2.0.0","name":"antrea","ipam":{"type":"host-local"}}`), 1, `cniVersion "2.0.0"`},
		{"network name missing", cmdAdd, conf(`{"cniVersion":"0.3.0","ipam":{"type":"host-local"}}`), 7, "network name"},
		{"network name invalid", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"../antrea","ipam":{"type":"host-local"}}`), 7, "network name"},
		{"ipam missing", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"antrea"}`), 7, "ipam.type is missing"},
		{"ipam type missing", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"antrea","ipam":{}}`), 7, "ipam.type is missing"},
		{"ipam type unsupported", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"antrea","ipam":{"type":"dhcp"}}`), 2, `ipam.type "dhcp"`},
		{"mtu negative", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"antrea","mtu":-1,"ipam":{"type":"host-local"}}`), 7, "mtu -1"},
		{"mtu too large", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"antrea","mtu":65536,"ipam":{"type":"host-local"}}`), 7, "mtu 65536"},
		{"prevResult malformed", cmdAdd, conf(`{"cniVersion":"0.3.0","name":"antrea","ipam":{"type":"host-local"},"prevResult":{"ips":1}}`), 6, "prevResult"},
		{"CHECK before 0.4.0", cmdCheck, conf(validConf), 1, "does not have CHECK"},
		{"CHECK without prevResult", cmdCheck, conf(`{"cniVersion":"0.4.0","name":"antrea","ipam":{"type":"host-local"}}`), 7, "prevResult is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := validRequest()
			tt.change(in)
			_, err := parseRequest(tt.command, in)
			require.ErrorContains(t, err, tt.message)
			require.Equal(t, tt.code, errorResponse(err).Error.Code)
		})
	}
}

func TestHostLocalConfig(t *testing.T) {
	tests := []struct {
		name    string
		conf    string
		cidrs   []string
		dataDir string
		want    string
	}{
		{
			name:  "one CIDR, the data directory left to host-local",
			conf:  validConf,
			cidrs: []string{"10.10.3.0/24"},
			want: `{"cniVersion":"0.3.0","name":"antrea","type":"antrea",
				"ipam":{"type":"host-local","ranges":[[{"subnet":"10.10.3.0/24","gateway":"10.10.3.1"}]]}}`,
		},
		{
			name: "ranges of the file are replaced, other keys kept",
			conf: `{"cniVersion":"1.0.0","name":"antrea","type":"antrea","mtu":1400,"dns":{"domain":"x"},"prevResult":{"cniVersion":"1.0.0"},
				"ipam":{"type":"host-local","subnet":"1.0.0.0/8","gateway":"1.0.0.1","rangeStart":"1.0.0.5","rangeEnd":"1.0.0.6","ranges":[],"resolvConf":"/x"}}`,
			cidrs:   []string{"10.10.3.0/24", "fd00:10::/64"},
			dataDir: "/data",
			want: `{"cniVersion":"1.0.0","name":"antrea","type":"antrea","mtu":1400,"dns":{"domain":"x"},
				"ipam":{"type":"host-local","resolvConf":"/x","dataDir":"/data",
					"ranges":[[{"subnet":"10.10.3.0/24","gateway":"10.10.3.1"}],[{"subnet":"fd00:10::/64","gateway":"fd00:10::1"}]]}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conf, err := parseNetworkConfig(cmdAdd, []byte(tt.conf))
			require.NoError(t, err)
			var cidrs []netip.Prefix
			for _, c := range tt.cidrs {
				cidrs = append(cidrs, netip.MustParsePrefix(c))
			}
			encoded, err := conf.hostLocalConfig(cidrs, tt.dataDir)
			require.NoError(t, err)
			var got, want any
			require.NoError(t, json.Unmarshal(encoded, &got))
			require.NoError(t, json.Unmarshal([]byte(tt.want), &want))
			require.Empty(t, cmp.Diff(want, got))
		})
	}
}
