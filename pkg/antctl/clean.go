// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text from servers and from other users' objects must not control the user's terminal: move its cursor, change its title,
// hide text or reverse its direction.

// clean makes one line of text printable: unprintable characters are shown as escapes in Go's notation.
func clean(text string) string { return cleanBut(text, "") }

// cleanText is clean for text of several lines.
func cleanText(text string) string { return cleanBut(text, "\n") }

func cleanBut(text, allowed string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "\\x%02x", text[0])
		case !steers(r) || strings.ContainsRune(allowed, r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString("\\n")
		case r == '\t':
			b.WriteString("\\t")
		case r == '\r':
			b.WriteString("\\r")
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, "\\x%02x", r)
		case r <= 0xffff:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			fmt.Fprintf(&b, "\\U%08x", r)
		}
		text = text[size:]
	}
	return b.String()
}

// cleanJSON does the same for JSON, whose encoder leaves some of these characters unchanged. They occur only within
// strings, where their escapes have the same meaning.
func cleanJSON(text string) string {
	return escapeEncoded(text, func(r rune) string {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf("\\u%04x\\u%04x", high, low)
	})
}

// cleanYAML does the same for YAML. In strings without double quotes an escape stands for itself.
func cleanYAML(text string) string {
	return escapeEncoded(text, func(r rune) string { return fmt.Sprintf("\\U%08x", r) })
}

// escapeEncoded calls wide for characters of more than 16 bits.
func escapeEncoded(text string, wide func(rune) string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || !steers(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteString(wide(r))
		}
	}
	return b.String()
}

// steers reports whether a character is not visible text: controls (C0, C1, DEL), formats (including text direction),
// and line and paragraph separators.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// cleanError is an error that is safe to print.
type cleanError struct{ error }

func (e cleanError) Error() string { return clean(e.error.Error()) }

func (e cleanError) Unwrap() error { return e.error }

// cleanWriter makes the lines that are written to it safe to print.
type cleanWriter struct{ io.Writer }

func (w cleanWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, cleanText(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
