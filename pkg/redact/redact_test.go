// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const pemKey = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIHunter2\nAoGCCqGSM49Hunter2\n-----END EC PRIVATE KEY-----\n"

func TestSecretsAreRedacted(t *testing.T) {
	jwt := "eyJhbGciOiJSUzI1NiIsImtpZCI6IkEifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.Hunter2_signature"
	for name, text := range map[string]string{
		"service account token":     `I1124 request.go:1 "Sent" token="` + jwt + `"`,
		"token without a name":      "got " + jwt + " from the API",
		"bearer token":              `header "Bearer Hunter2Hunter2"`,
		"authorization header":      "Authorization: Token Hunter2",
		"YAML":                      "  password: Hunter2",
		"YAML in quotes":            `  password: "Hunter2"`,
		"JSON":                      `{"name":"x","password":"Hunter2"}`,
		"JSON in a log line":        `body="{\"token\":\"Hunter2\"}"`,
		"command line":              "--v=2 --kube-token Hunter2",
		"command line with =":       "--v=2 --kube-token=Hunter2",
		"environment":               "DB_PASSWORD=Hunter2",
		"URL":                       "pulling https://user:Hunter2@registry.example.com/x",
		"OVSDB":                     `options : {psk="Hunter2", remote_name=n2}`,
		"OVSDB, JSON":               `["map",[["psk","x"]]] psk=Hunter2`,
		"kubeconfig token":          "- name: u\n  user:\n    token: Hunter2\n",
		"kubeconfig key":            "    client-key-data: " + base64.StdEncoding.EncodeToString([]byte("Hunter2")),
		"private key":               "before\n" + pemKey + "after\n",
		"private key on a line":     strings.ReplaceAll(pemKey, "\n", `\n`),
		"private key, indented":     "tls: |\n  " + strings.ReplaceAll(pemKey, "\n", "\n  "),
		"private key in base64":     "data: " + base64.StdEncoding.EncodeToString([]byte(pemKey)),
		"Secret":                    "data:\n  tls.key: " + base64.StdEncoding.EncodeToString([]byte("Hunter2")),
		"last applied, JSON":        `"kubectl.kubernetes.io/last-applied-configuration":"{\"env\":[{\"name\":\"A\",\"value\":\"Hunter2\"}]}"`,
		"last applied, YAML block":  "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"value\":\"Hunter2\"}\n    next: kept\n",
		"secret, YAML block":        "  token: |-\n    Hunter2\n    Hunter2\n  next: kept\n",
		"sysctl":                    "net.ipv4.tcp_fastopen_key = Hunter2-Hunter2",
		"a line without end":        "token: Hunter2",
		"upper case":                "SECRET=Hunter2",
		"several secrets on a line": "password=Hunter2 token=Hunter2,psk=Hunter2",
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{1, 7, len(text)} {
				var out bytes.Buffer
				r := NewWriter(&out)
				for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
					_, err := r.Write([]byte(rest[:min(step, len(rest))]))
					require.NoError(t, err)
				}
				require.NoError(t, r.Flush())
				for _, secret := range []string{"Hunter2", "Hunter2_signature", base64.StdEncoding.EncodeToString([]byte("Hunter2")), base64.StdEncoding.EncodeToString([]byte(pemKey))} {
					require.NotContains(t, out.String(), secret)
				}
				require.Contains(t, out.String(), Mark)
				for _, kept := range []string{"before", "after", "next: kept"} {
					require.Equal(t, strings.Contains(text, kept), strings.Contains(out.String(), kept), out.String())
				}
			}
		})
	}
}

func TestHarmlessTextIsNotRedacted(t *testing.T) {
	for _, text := range []string{
		"bypass: true\nI1128 08:00:00.1 x.go:1] \"Sent\" token=\"\" next=\"kept\"\n",
		"cookie=0x1000000000000, table=Classifier, priority=200,in_port=1 actions=set_field:0x1/0xf->reg0\n",
		"secretName: antrea-controller-tls\nkind: Secret\n",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
		"-A ANTREA-INPUT -m comment --comment \"Antrea: allow\" -j ACCEPT\n",
		"GET https://10.96.0.1:443/api/v1/nodes 200 OK\n",
		"inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\n\n",
		strings.Repeat("x", 3*maxLine),
	} {
		require.Equal(t, text, string(Text([]byte(text))))
	}
}

func BenchmarkRedact(b *testing.B) {
	for name, text := range map[string]string{
		"flows":  " cookie=0x1000000000000, duration=12.3s, table=IngressRule, n_packets=0, n_bytes=0, priority=14000,conj_id=12,ip actions=load:0xc->reg3,ct_label[0..31]\n",
		"key":    "I1128 08:00:00.123456       1 controller.go:123] \"Synced the object\" kind=\"Service\" key=\"kube-system/antrea\" duration=\"1.234ms\" generation=12\n",
		"secret": "I1128 08:00:00.123456       1 controller.go:123] \"Sent a request\" kind=\"Service\" token=\"kube-system/antrea\" duration=\"1.234ms\" generation=12\n",
	} {
		b.Run(name, func(b *testing.B) {
			line := []byte(text)
			b.SetBytes(int64(len(line)))
			r := NewWriter(&bytes.Buffer{})
			for b.Loop() {
				r.to.(*bytes.Buffer).Reset()
				_, _ = r.Write(line)
			}
		})
	}
}
