// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
)

// forms are secrets that are recognized by what they look like.
var forms = []struct {
	// hints are in lower case. A form is looked for only in lines with one of them, because that takes much longer.
	hints []string
	form  *regexp.Regexp
	with  string
}{
	// The annotation has a copy of the whole object as it was applied, in JSON.
	{[]string{lastApplied}, regexp.MustCompile(`(last-applied-configuration"?\s*[:=]\s*).*`), "${1}" + Mark},
	// JSON Web Tokens: header and payload are JSON objects, in base64.
	{[]string{"eyj"}, regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), Mark},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)\b(bearer\s+)[^\s"']+`), "${1}" + Mark},
	{[]string{"basic"}, regexp.MustCompile(`(?i)\b(basic\s+)[A-Za-z0-9+/=_-]{8,}`), "${1}" + Mark},
	// URLs: what is in front of the last @ of the authority; with a colon in front of the path also a password that has a slash.
	{[]string{"://"}, regexp.MustCompile(`(://)[^\s/"]*:[^\s"]*@`), "${1}" + Mark + "@"},
	{[]string{"://"}, regexp.MustCompile(`(://)[^\s/"]*@`), "${1}" + Mark + "@"},
	// Data source names of databases: user:password@tcp(host:port)/name.
	{[]string{"@tcp(", "@unix("}, regexp.MustCompile(`[^\s:"'=]+:\S*@(tcp|unix)\(`), Mark + "@${1}("},
	// Keys of well-known providers, which have a prefix.
	{[]string{"akia", "asia"}, regexp.MustCompile(`\bA[KS]IA[A-Z0-9]{16}\b`), Mark},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"},
		regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-)[A-Za-z0-9_-]{10,}`), Mark},
	{[]string{"private key-----"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), Mark},
	// A file in PEM, in base64, with the words PRIVATE KEY in one of their three encodings.
	{[]string{"ls0tls1crudjti"}, regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/]*(?:UFJJVkFURSBLRVkt|BSSVZBVEUgS0VZL|QUklWQVRFIEtFWS)[A-Za-z0-9+/=]*`), Mark},
}

const lastApplied = "last-applied-configuration"

// withoutForms removes the secrets that have one of the forms from a line, of which lower is the copy in lower case.
func withoutForms(line, lower []byte) []byte {
	for _, f := range forms {
		if slices.ContainsFunc(f.hints, func(hint string) bool { return bytes.Contains(lower, []byte(hint)) }) {
			line = f.form.ReplaceAll(line, []byte(f.with))
		}
	}
	return line
}
