// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes secrets from text and objects that leave the cluster: tokens, keys, passwords, and copies of whole objects. It works
// on lines and knows only forms in which secrets usually occur, so a person must still look at what is sent to others. In doubt it removes:
// a secret without quotes is everything up to the end of its line.
//
// forms.go recognizes secrets by their form, names.go by the name before them, writer.go secrets of several lines,
// object.go secrets in decoded objects.
package redact

import "bytes"

// Mark replaces a secret.
const Mark = "<redacted>"

// Text returns a text without its secrets.
func Text(text []byte) []byte {
	var out bytes.Buffer
	r := NewWriter(&out)
	// A bytes.Buffer takes everything.
	_, _ = r.Write(text)
	_ = r.Flush()
	return out.Bytes()
}
