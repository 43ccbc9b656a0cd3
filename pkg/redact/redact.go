// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes secrets from text that leaves the cluster: tokens, keys, passwords, and copies of whole objects. It works on
// lines and knows only forms in which secrets usually occur, so a person must still look at what is sent to others.
package redact

import (
	"bytes"
	"io"
	"regexp"
	"slices"
)

// Mark replaces a secret.
const Mark = "<redacted>"

// maxLine is the longest piece of text that is examined at once. Longer lines are cut where a word ends.
const maxLine = 1 << 20

// secrets are the forms in which secrets occur in logs, configuration files, command lines and objects.
var secrets = []struct {
	// hints are in lower case. A form is looked for only in lines with one of them, because that takes much longer.
	hints []string
	form  *regexp.Regexp
	with  string
}{
	// The annotation has a copy of the whole object as it was applied, in JSON.
	{[]string{lastApplied}, regexp.MustCompile(`(last-applied-configuration"?\s*[:=]\s*).*`), "${1}" + Mark},
	// JSON Web Tokens: header and payload are JSON objects, in base64.
	{[]string{"eyj"}, regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), Mark},
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}" + Mark},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)\b(authorization"?\s*[:=]\s*)\S.*`), "${1}" + Mark},
	{[]string{"://"}, regexp.MustCompile(`(://[^/\s:@]+:)[^/\s@]+@`), "${1}" + Mark + "@"},
	// key: value, "key":"value" and key=value, with the value in quotes or without.
	{secretNames, regexp.MustCompile(`(?i)(` + secretKey + `["'\\]*\s*[:=]\s*["'\\]*)([^\s"'\\,;{}\[\]&]+)`), "${1}" + Mark},
	{secretNames, regexp.MustCompile(`(?i)(--[a-z-]*(?:password|passwd|passphrase|secret|token|psk|api-?key|private-?key)\s+["']?)([^\s"'-][^\s"']*)`), "${1}" + Mark},
	{[]string{"private key-----"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), Mark},
	// A file in PEM, in base64, with the words PRIVATE KEY in one of their three encodings.
	{[]string{"ls0tls1crudjti"}, regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/]*(?:UFJJVkFURSBLRVkt|BSSVZBVEUgS0VZL|QUklWQVRFIEtFWS)[A-Za-z0-9+/=]*`), Mark},
}

const lastApplied = "last-applied-configuration"

// secretKey is the end of a name whose value is secret. net.ipv4.tcp_fastopen_key is a sysctl.
const secretKey = `(?:password|passwd|passphrase|secret|token|psk|api[-_]?key|access[-_]?key|private[-_]?key|fastopen_key|client-key-data|` +
	`client-certificate-data|tls\.key)`

var secretNames = []string{"pass", "secret", "token", "psk", "key", "client-certificate-data"}

var (
	keyBegins = []byte("-----BEGIN ")
	keyEnds   = []byte("-----END ")
	keyNames  = []byte("PRIVATE KEY-----")
	// block is the end of a line after which a secret is a block of YAML.
	block = regexp.MustCompile(`(?i)(?:` + lastApplied + `|` + secretKey + `)["']?:\s*[|>][0-9+-]*$`)
)

// Writer passes text on without secrets, a line at a time.
type Writer struct {
	to io.Writer
	// rest is the beginning of a line that is not complete.
	rest []byte
	// inKey is set within a private key of several lines, inBlock within a secret that is a block of YAML indented by more than
	// indent.
	inKey, inBlock bool
	indent         int
}

// NewWriter returns a Writer to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write takes the next part of the text.
func (r *Writer) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	done := 0
	for {
		end := bytes.IndexByte(r.rest[done:], '\n') + 1
		if end == 0 && len(r.rest)-done > maxLine {
			end = lastBreak(r.rest[done : done+maxLine])
		}
		if end == 0 {
			break
		}
		if err := r.line(r.rest[done : done+end]); err != nil {
			return 0, err
		}
		done += end
	}
	r.rest = append(r.rest[:0], r.rest[done:]...)
	return len(p), nil
}

// Flush passes on what is left.
func (r *Writer) Flush() error {
	err := r.line(r.rest)
	r.rest, r.inKey, r.inBlock = nil, false, false
	return err
}

func (r *Writer) line(line []byte) error {
	if r.inKey {
		r.inKey = !bytes.Contains(line, keyEnds)
		return nil
	}
	text := bytes.TrimSpace(line)
	indent := bytes.IndexFunc(line, func(c rune) bool { return c != ' ' })
	if r.inBlock = r.inBlock && (len(text) == 0 || indent > r.indent); r.inBlock {
		return nil
	}
	if begin := bytes.Index(line, keyBegins); begin >= 0 && bytes.Contains(line[begin:], keyNames) && !bytes.Contains(line[begin:], keyEnds) {
		r.inKey = true
		line = append(bytes.Clone(line[:begin]), Mark+"\n"...)
	}
	lower := bytes.ToLower(line)
	if bytes.ContainsAny(text, "|>") && block.Match(text) {
		r.inBlock, r.indent = true, indent
	}
	for _, s := range secrets {
		if slices.ContainsFunc(s.hints, func(hint string) bool { return bytes.Contains(lower, []byte(hint)) }) {
			line = s.form.ReplaceAll(line, []byte(s.with))
		}
	}
	_, err := r.to.Write(line)
	return err
}

// lastBreak is the length of text up to its last space or comma, or all of it.
func lastBreak(text []byte) int {
	if i := bytes.LastIndexAny(text, " ,\t"); i > 0 {
		return i + 1
	}
	return len(text)
}

// Text returns a text without its secrets.
func Text(text []byte) []byte {
	var out bytes.Buffer
	r := NewWriter(&out)
	// A bytes.Buffer takes everything.
	_, _ = r.Write(text)
	_ = r.Flush()
	return out.Bytes()
}
