// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// place is somewhere that a secret can be in text. It holds secrets with the characters in between their words.
type place struct {
	name, joints string
	put          func(secret string) string
}

const (
	anything = " ,;:=@/'\"\\{}[]&|<>#-?%$"
	noQuote  = " ,;:=@/{}[]&|<>#-?%$"
	oneWord  = ",;:=/{}[]&|<>#-?%$"
)

func around(before, after string) func(string) string {
	return func(secret string) string { return before + secret + after }
}

func mustJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// places are the forms of logs, configuration files, command lines, and objects.
var places = []place{
	{"key: value", noQuote, around("a: b\n  db-password: x", "\nc: d\n")},
	{"key: value of a list", noQuote, around("- psk: x", "\n- c: d\n")},
	{"KEY=value", noQuote, around("DB_PASS=x", "\nHOME=/root\n")},
	{"pwd=", noQuote, around("user=a pwd=x", "\n")},
	{"wpa_passphrase", noQuote, around("wpa_passphrase=x", "\n")},
	{"wpa-psk", noQuote, around("  wpa-psk x", "\n")},
	{"AWS key", noQuote, around("aws_access_key_id = x", "\n")},
	{"double quotes", noQuote + "'", around(`x password="`, `" y=z`)},
	{"single quotes", noQuote + `"`, around(`x token='`, `' y=z`)},
	{"quotes over lines", "\n ,;'", around(`token="`, `"`)},
	{"shell quotes", `'`, func(s string) string { return `--password '` + strings.ReplaceAll(s, `'`, `'"'"'`) + `'` }},
	{"JSON", anything + "\n", func(s string) string { return mustJSON(map[string]string{"password": s, "z": "y"}) }},
	{"JSON in a string", anything + "\n", func(s string) string {
		return `"body"=` + mustJSON(mustJSON(map[string]string{"client_secret": s})) + " a=b"
	}},
	{"JSON in a string in a string", anything, func(s string) string {
		return mustJSON(mustJSON(mustJSON(map[string]string{"client_secret": s})))
	}},
	{"JSON over lines", anything, func(s string) string {
		text, _ := json.MarshalIndent(map[string]any{"tokens": []string{s, s}, "z": "y"}, "", "  ")
		return string(text)
	}},
	{"JSON, name and value", anything, func(s string) string { return `{"name":"DB_PASSWORD","value":` + mustJSON(s) + `}` }},
	{"registry", anything, func(s string) string { return `{"auths":{"r":{"auth":` + mustJSON(s) + `}}}` }},
	{"YAML", anything + "\n", func(s string) string {
		text, _ := yaml.Marshal(map[string]any{"a": map[string]any{"private_key": s, "z": "y"}})
		return string(text)
	}},
	{"YAML, long", " ", func(s string) string {
		text, _ := yaml.Marshal(map[string]any{"a": map[string]any{"message": strings.Repeat("long ", 14) + "password: " + s, "z": "y"}})
		return string(text)
	}},
	{"YAML block", noQuote, func(s string) string { return "a:\n  psk: |\n    x" + s + "\n\n    y" + s + "\n  next: 1\n" }},
	{"next line", noQuote, around("psk:\n  x", "\n")},
	{"next line of a list", noQuote, around("- a: b\n  password:\n  - x", "\n")},
	{"next line, not indented", oneWord, around("Password:\n", "\n")},
	{"YAML, name and value", noQuote, around("- name: DB_PASSWORD\n  value: x", "\n")},
	{"option", noQuote, around("exec x --kube-token x", "\n")},
	{"option=", noQuote, around("x --db-pass=x", "\n")},
	{"options a line each", anything, around("--password\n", "\n--v=2\n")},
	{"options in a list", anything, around("  args:\n  - --password\n  - x", "\n  image: x\n")},
	{"options in JSON", anything, func(s string) string { return mustJSON([]string{"--password", s, "--v=2"}) }},
	{"options in JSON over lines", anything, func(s string) string {
		text, _ := json.MarshalIndent([]string{"--password", s, "--v=2"}, "", " ")
		return string(text)
	}},
	{"option, continued", oneWord, around("x --token \\\n  x", "\n")},
	{"OVSDB", noQuote, around(`options : {psk="`, `", remote_name=n2}`)},
	{"URL", ":;,-$", around("pull https://user:", "@registry/x failed\n")},
	{"URL without user", ";,-$", around("https://:", "@host/\n")},
	{"URL without password", ";,-$", around("https://", "@host/\n")},
	{"URL with two @", ":;@,-$", around("postgres://app@db:", "@db/x\n")},
	{"URL with a slash", ":;@/,-$", around("postgres://app:x", "@db/x\n")},
	{"DSN", ":;@/,-$", around("open app:", "@tcp(db:3306)/x\n")},
	{"URL parameter", "&%;", around("GET https://x/?access_token=", " 200\n")},
	{"Authorization", noQuote, around("Authorization: Negotiate ", "\nHost: x\n")},
	{"Authorization, continued", noQuote, around("Authorization: Bearer\n x", "\nHost: x\n")},
	{"Cookie", noQuote, around("Set-Cookie: session=", "\nHost: x\n")},
	{"headers of Go", noQuote, around("map[Cookie:[session=", "]]\n")},
	{"X-Api-Key", noQuote, around("x-api-key: ", "\n")},
	{"bearer", oneWord, around("curl -H bearer ", "\n")},
	{"struct of Go", noQuote, around("{User:x Password:", "}\n")},
	{"PEM", "\n", around("x\n-----BEGIN RSA PRIVATE KEY-----\n", "\n-----END RSA PRIVATE KEY-----\ny\n")},
	{"last applied", anything, func(s string) string {
		return "  kubectl.kubernetes.io/last-applied-configuration: |\n    {\"x\":" + mustJSON(s) + "}\n  y: z\n"
	}},
}

// randomSecret are words with random joints, and the words, none of which may be seen.
func randomSecret(random *rand.Rand, joints string) (secret string, words []string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var text strings.Builder
	for i := range 1 + random.IntN(5) {
		for range random.IntN(3) {
			if i > 0 && len(joints) > 0 {
				text.WriteByte(joints[random.IntN(len(joints))])
			}
		}
		word := make([]byte, 7)
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		words = append(words, string(word))
		text.Write(word)
	}
	return text.String(), words
}

// TestNoSecretComesOut puts random secrets into all places.
func TestNoSecretComesOut(t *testing.T) {
	seed := rand.Uint64()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 200 {
				secret, words := randomSecret(random, p.joints)
				text := "before\n" + p.put(secret)
				clean := string(Text([]byte(text)))
				for _, word := range words {
					require.NotContains(t, clean, word, "seed %d, %q in\n%s", seed, secret, text)
				}
				require.True(t, strings.HasPrefix(clean, "before\n"), clean)
				again := string(Text([]byte(clean + "\n\nnext: kept\n")))
				require.Contains(t, again, "next: kept", "what is hidden must end:\n%s", clean)
			}
		})
	}
}

// TestWhatFollowsASecretIsKept: lines that have nothing to do with it.
func TestWhatFollowsASecretIsKept(t *testing.T) {
	for text, want := range map[string]string{
		`{"password":"x","z":"y"}`:                      `{"password":"<redacted>","z":"y"}`,
		`token='x' y=z`:                                 `token='<redacted>' y=z`,
		`"{\"token\":\"x\",\"z\":\"y\"}"`:               `"{\"token\":\"<redacted>\",\"z\":\"y\"}"`,
		"psk: |\n  line1\n\n  line2\nnext: 1":           "psk: <redacted>\n\nnext: 1",
		"psk:\n  x\nnext: 1":                            "psk:\n  <redacted>\nnext: 1",
		"psk:\nnext: 1":                                 "psk:\nnext: 1",
		"password:\n- x\n- y\nnext: 1":                  "password:\n- <redacted>\nnext: 1",
		"- --password\n- x\n- --v=2":                    "- --password\n- <redacted>\n- --v=2",
		"args:\n- --password\nimage: x":                 "args:\n- --password\nimage: x",
		"- name: A_TOKEN\n  value: x\n- name: B":        "- name: A_TOKEN\n  value: <redacted>\n- name: B",
		"- name: A_TOKEN\n  valueFrom:\n    x: y":       "- name: A_TOKEN\n  valueFrom:\n    x: y",
		"token=\"x\ny\" z=1":                            "token=\"<redacted>\n z=1",
		"docker-pullable://registry/image@sha256:abcde": "docker-pullable://registry/image@sha256:abcde",
		"https://user@host/path":                        "https://<redacted>@host/path",
	} {
		clean := string(Text([]byte(text)))
		require.Equal(t, want, clean)
		require.Equal(t, want, string(Text([]byte(clean))), "it changes once more")
	}
}

// TestLongLines: a line is examined in pieces, wherever they part a secret from its name.
func TestLongLines(t *testing.T) {
	for _, secret := range []string{"--password Hunter22", "password: Hunter22 Hunter22" + strings.Repeat(" Hunter22", 30), `{"token" : "Hunter22"}`, `token="a Hunter22" z`} {
		for before := range 64 {
			var clean bytes.Buffer
			w := NewWriter(&clean)
			w.longest = 64
			_, err := fmt.Fprintf(w, "%s %s\n", strings.Repeat("x", before), secret)
			require.NoError(t, err)
			require.NoError(t, w.Flush())
			require.NotContains(t, clean.String(), "Hunter22", "%q behind %d characters", secret, before)
			require.True(t, strings.HasSuffix(clean.String(), "\n"), clean.String())
		}
	}
}

// TestNoSecretOfAnObjectComesOut puts random secrets into all places of a Pod.
func TestNoSecretOfAnObjectComesOut(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	for range 200 {
		s, words := randomSecret(random, anything+"\n")
		line, lineWords := randomSecret(random, noQuote)
		pod := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(mustJSON(map[string]any{
			"metadata": map[string]any{
				"managedFields": []string{s},
				"annotations": map[string]string{
					"example.com/whole-object": s, "note": s, "kubectl.kubernetes.io/last-applied-configuration": s, "kubernetes.io/ingress-bandwidth": "1M",
					"antrea.io/note": "db password: x" + line, "kubernetes.io/psk": s,
				},
				"labels": map[string]string{"api-key": s, "app": "web"},
			},
			"spec": map[string]any{
				"automountServiceAccountToken": false,
				"volumes":                      []any{map[string]any{"name": "token", "secret": map[string]string{"secretName": "kept"}}},
				"credentials":                  map[string]any{"a": []string{s}, "b": 12},
				"containers": []any{map[string]any{
					"command":       []string{"/bin/x", "--password", s, "--db-pass=" + s, "DB_PWD=" + s, "sh -c 'mysql --password " + line},
					"args":          []string{"-token", s, "postgres://app@db:" + strings.ReplaceAll(lineWords[0], " ", "") + "@db/x"},
					"env":           []any{map[string]any{"name": "SOME", "value": s}, map[string]any{"name": "REF", "valueFrom": map[string]any{"secretKeyRef": map[string]string{"name": "kept2"}}}},
					"livenessProbe": map[string]any{"httpGet": map[string]any{"httpHeaders": []any{map[string]string{"name": "X-Any", "value": s}}}},
					"parameters":    []any{map[string]string{"name": "Authorization", "value": s}, map[string]string{"name": "x", "value": "kept3"}},
				}},
			},
			"status": map[string]any{"message": fmt.Sprintf("could not log in: password=%q", s)},
		})), &pod))
		text, err := yaml.Marshal(Object(pod))
		require.NoError(t, err)
		for _, word := range append(words, lineWords...) {
			require.NotContains(t, string(text), word, "seed %d, %q, %q in\n%s", seed, s, line, text)
		}
		for _, kept := range []string{"ingress-bandwidth: 1M", "app: web", "secretName: kept", "kept2", "kept3", "name: SOME", "automountServiceAccountToken: false", "name: X-Any"} {
			require.Contains(t, string(text), kept)
		}
	}
}
