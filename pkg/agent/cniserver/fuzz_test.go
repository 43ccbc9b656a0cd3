// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

var cniVersions = []string{"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}

func confWith(version, prevResult string) []byte {
	return fmt.Appendf(nil, `{"cniVersion":%q,"name":"antrea","type":"antrea","ipam":{"type":"host-local"},"prevResult":%s}`, version, prevResult)
}

func TestPrevResultWithElementsThatAreNull(t *testing.T) {
	for _, version := range cniVersions {
		for field, prevResult := range map[string]string{
			"interfaces[0]": `{"cniVersion":%q,"interfaces":[null]}`,
			"interfaces[1]": `{"cniVersion":%q,"interfaces":[{"name":"x"},null]}`,
			"ips[0]":        `{"cniVersion":%q,"ips":[null]}`,
			"routes[0]":     `{"cniVersion":%q,"routes":[null]}`,
		} {
			t.Run(version+" "+field, func(t *testing.T) {
				conf := confWith(version, fmt.Sprintf(prevResult, version))
				_, err := parseNetworkConfig(cmdAdd, conf)
				require.ErrorContains(t, err, `prevResult of network "antrea": `+field+" is null")
				require.Equal(t, cnipb.ErrorCode_DECODING_FAILURE, errorResponse(err).Error.Code)
				// A DEL that failed would keep what must be removed.
				_, err = parseNetworkConfig(cmdDel, conf)
				require.NoError(t, err)
			})
		}
	}
}

// host-local must act on exactly the values that the server has checked and remembered.
func TestHostLocalSeesWhatTheServerHasChecked(t *testing.T) {
	for name, conf := range map[string]string{
		"name twice":            `{"cniVersion":"1.0.0","name":"../x","NAME":"antrea","ipam":{"type":"host-local"}}`,
		"range in capitals":     `{"cniVersion":"1.0.0","name":"antrea","ipam":{"type":"host-local","SUBNET":"1.0.0.0/8"}}`,
		"dataDir twice":         `{"cniVersion":"1.0.0","name":"antrea","ipam":{"type":"host-local","dataDir":"/a","DataDir":"/b"}}`,
		"ipam twice":            `{"cniVersion":"1.0.0","name":"antrea","ipam":{"type":"host-local","dataDir":"/a"},"ipam":{"type":"host-local"}}`,
		"ipam, and in capitals": `{"cniVersion":"1.0.0","name":"antrea","ipam":{"type":"host-local","dataDir":"/a"},"IPAM":{"type":"host-local","dataDir":"/b"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := parseNetworkConfig(cmdAdd, []byte(conf))
			require.NoError(t, err)
			requireSameForHostLocal(t, parsed)
		})
	}
}

func requireSameForHostLocal(t *testing.T, conf *networkConfig) {
	t.Helper()
	encoded, err := conf.hostLocalConfig([]netip.Prefix{netip.MustParsePrefix("10.10.1.0/24")}, "")
	require.NoError(t, err)
	var seen struct {
		Name string `json:"name"`
		IPAM struct {
			Subnet, RangeStart, RangeEnd string
			DataDir                      string
			Ranges                       [][]ipamRange
		}
	}
	require.NoError(t, json.Unmarshal(encoded, &seen))
	require.Equal(t, conf.name, seen.Name)
	require.Equal(t, conf.dataDir, seen.IPAM.DataDir)
	require.Empty(t, seen.IPAM.Subnet+seen.IPAM.RangeStart+seen.IPAM.RangeEnd)
	require.Equal(t, [][]ipamRange{{{Subnet: "10.10.1.0/24", Gateway: "10.10.1.1"}}}, seen.IPAM.Ranges)
}

// tryRequest does everything that the server does with a request before it changes anything. It reports whether it is
// accepted.
func tryRequest(t *testing.T, in *cnipb.CniCmdRequest) (accepted bool) {
	iface := &interfacestore.InterfaceConfig{InterfaceName: "web-000000", IPs: []netip.Addr{netip.MustParseAddr("10.10.1.2")}}
	_ = fmt.Sprint(append(requestForLog(in), requestSubject(in))...)
	for _, cmd := range []command{cmdAdd, cmdCheck, cmdDel} {
		req, err := parseRequest(cmd, in)
		if err != nil {
			require.NotEqual(t, cnipb.ErrorCode_UNKNOWN, errorResponse(err).Error.Code, "%v", err)
			continue
		}
		accepted = true
		_ = checkPrevResult(req)
		if req.conf.prevResult != nil {
			_ = verifyPrevResult(req, iface)
			_, _ = encodeResult(req, req.conf.prevResult)
		}
		requireSameForHostLocal(t, req.conf)
	}
	return accepted
}

func FuzzRequest(f *testing.F) {
	for _, version := range cniVersions {
		for _, prevResult := range []string{
			`null`, `{}`, `{"interfaces":[null],"ips":[null],"routes":[null]}`,
			`{"cniVersion":"` + version + `","interfaces":[{"name":"eth0","sandbox":"/n"}],"ips":[{"version":"4","interface":0,"address":"10.0.0.1/24"}],"routes":[{"dst":"0.0.0.0/0"}],"dns":{"domain":"x"}}`,
		} {
			in := validRequest()
			in.NetworkConfiguration = confWith(version, prevResult)
			encoded, err := proto.Marshal(in)
			require.NoError(f, err)
			f.Add(encoded)
		}
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		in := &cnipb.CniCmdRequest{}
		if proto.Unmarshal(encoded, in) == nil {
			tryRequest(t, in)
		}
	})
}

// jsonMutator changes JSON so that it stays JSON; changes of single bytes rarely do.
type jsonMutator struct{ *rand.Rand }

// value returns v with one place changed.
func (m jsonMutator) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v { // a random one
			if m.IntN(2) == 0 {
				v[key] = m.value(v[key])
			} else {
				v[key] = m.replacement()
			}
			break
		}
		return v
	case []any:
		if len(v) > 0 && m.IntN(2) == 0 {
			k := m.IntN(len(v))
			v[k] = m.value(v[k])
			return v
		}
		return append(v, m.replacement())
	}
	return m.replacement()
}

func (m jsonMutator) replacement() any {
	switch m.IntN(12) {
	case 0, 1, 2, 3:
		return nil
	case 4:
		return []any{nil}
	case 5:
		return map[string]any{"": nil}
	case 6:
		return m.Float64() * 1e300
	case 7:
		return -m.IntN(1 << 20)
	case 8:
		return strings.Repeat("x", m.IntN(1<<uint(m.IntN(13))))
	case 9:
		return nested(1 + m.IntN(20))
	case 10:
		return true
	}
	return map[string]any{"version": "4", "interface": 99, "address": "10.0.0.1/24"}
}

func nested(depth int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", depth) + "null" + strings.Repeat("]", depth))
}

// text encodes v and may repeat a key, with other letter case or another value.
func (m jsonMutator) text(t *testing.T, v any) []byte {
	if m.IntN(2000) == 0 {
		// encoding/json ends at a depth of 10,000.
		return confWith("1.0.0", `{"interfaces":`+string(nested(m.IntN(12000)))+`}`)
	}
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	s := string(encoded)
	if m.IntN(3) == 0 {
		for _, key := range []string{"name", "ipam", "prevResult", "cniVersion", "interfaces", "ips", "type"} {
			if m.IntN(3) == 0 {
				other := []string{key, strings.ToUpper(key)}[m.IntN(2)]
				value := []string{"null", "[null]", "{}", `"x"`, `{"type":"host-local"}`, `[]`}[m.IntN(6)]
				s = strings.Replace(s, `"`+key+`":`, fmt.Sprintf("%q:%s,%q:", other, value, key), 1)
			}
		}
	}
	return []byte(s)
}

var bytesToInsert = []string{`null`, `[]`, `{}`, `"`, `0`, `-1`, `1e99`, `"ipam":`, `,`, "\x00", "\xff", `"type":"host-local"`, "..", "/", ";", "="}

// bytes changes up to two places of s.
func (m jsonMutator) bytes(s string) string {
	b := []byte(s)
	for n := m.IntN(3); n > 0 && len(b) > 0; n-- {
		k := m.IntN(len(b))
		switch m.IntN(3) {
		case 0:
			b[k] = byte(m.IntN(256))
		case 1:
			b = append(b[:k:k], append([]byte(bytesToInsert[m.IntN(len(bytesToInsert))]), b[k:]...)...)
		case 2:
			b = append(b[:k:k], b[min(len(b), k+m.IntN(20)):]...)
		}
	}
	return string(b)
}

var mutations = flag.Int("mutations", 5000, "how many requests TestMutatedRequests makes")

func TestMutatedRequests(t *testing.T) {
	count := *mutations
	m := jsonMutator{rand.New(rand.NewPCG(1, 2))}
	accepted, withPrevResult := 0, 0
	for i := range count {
		version := cniVersions[m.IntN(len(cniVersions))]
		conf := confWith(version, `{"cniVersion":"`+version+`","interfaces":[{"name":"web-000000"},{"name":"eth0","sandbox":"/var/run/netns/x"}],
			"ips":[{"version":"4","interface":1,"address":"10.10.1.2/24","gateway":"10.10.1.1"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.10.1.1"}]}`)
		in := validRequest()
		if i%2 == 0 {
			var v any
			require.NoError(t, json.Unmarshal(conf, &v))
			for n := 1 + m.IntN(2); n > 0; n-- {
				v = m.value(v)
			}
			conf = m.text(t, v)
		} else {
			conf = []byte(m.bytes(string(conf)))
			in.ContainerId, in.Netns, in.Ifname, in.Args, in.Path = m.bytes(in.ContainerId), m.bytes(in.Netns), m.bytes(in.Ifname), m.bytes(in.Args), m.bytes(in.Path)
		}
		in.NetworkConfiguration = conf
		if tryRequest(t, in) {
			accepted++
			if strings.Contains(string(conf), "interfaces") {
				withPrevResult++
			}
		}
	}
	// Otherwise nothing would be tested.
	require.Greater(t, accepted, count/20)
	require.Greater(t, withPrevResult, count/50)
	t.Logf("%d of %d accepted", accepted, count)
}
