// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// secretName is the end of a name whose value is secret. net.ipv4.tcp_fastopen_key is a sysctl.
var secretName = `(?:pass(?:[-_ ]?(?:words?|wd|phrase|code))?|pwd|secret|tokens?|psk|credentials?|client-key-data|client-certificate-data|` +
	`amz-signature|dockerconfigjson|dockercfg|(?:proxy-)?authorization|` +
	`(?:` + strings.ReplaceAll(strings.Join(keyKinds, "|"), ".", `\.`) + `)[` + keyJoints + `]?key(?:[-_ ]?id)?)`

// nameHints are in lower case. A line without any of them, and without a kind of key, has no name.
var nameHints = []string{"pass", "pwd", "secret", "token", "psk", "credential", "client-certificate-data", "client-key-data", "amz-signature",
	"dockerconfigjson", "dockercfg", "authorization", `auth"`, "auth'", `auth\`, "cookie:", `cookie"`, "cookie'", `cookie\`, lastApplied}

// keyKinds precede "key" in a secret's name, with or without one of keyJoints.
var keyKinds = []string{"api", "access", "private", "secret", "encryption", "signing", "shared", "auth", "account", "ssh", "master", "fastopen", "."}

const keyJoints = "_ -"

// isHinted reports whether a line in lower case may have a secret's name. It is much faster than to look for one.
func isHinted(lower []byte) bool {
	if slices.ContainsFunc(nameHints, func(hint string) bool { return bytes.Contains(lower, []byte(hint)) }) {
		return true
	}
	for rest := lower; ; {
		i := bytes.Index(rest, []byte("key"))
		if i < 0 {
			return false
		}
		before := rest[:i]
		if i > 0 && bytes.IndexByte([]byte(keyJoints), rest[i-1]) >= 0 {
			before = rest[:i-1]
		}
		if slices.ContainsFunc(keyKinds, func(kind string) bool { return bytes.HasSuffix(before, []byte(kind)) }) {
			return true
		}
		rest = rest[i+len("key"):]
	}
}

// harmlessNames end like a secret's name and are none.
var harmlessNames = []string{"bypass", "compass"}

// maxHarmless is the length of the longest of them.
const maxHarmless = 7

var (
	// named is a name up to the beginning of its value: name: value, "name":"value", name=value, name => value; the header Cookie, which is no
	// secret with =, because flows have a cookie; the member auth of a file of registries; the pair name: NAME, value: VALUE of lists; an
	// option --name value, "--name","value"; psk value.
	named = regexp.MustCompile(`(?i)(?:(` + secretName + `)["'\\\])]*\s*(?:[:=]+>?|,?\s*["'\\]*value["'\\]*\s*[:=])|` +
		`cookie["'\\]*\s*:|["']auth["'\\]*\s*:|` +
		`-[\w.-]*` + secretName + `["'\\]*(?:\s*,\s*|\s+)|psk["'\\]*\s+)\s*`)
	// wholeName is a name that has nothing behind it.
	wholeName = regexp.MustCompile(`(?i)(?:` + secretName + `|cookie)$`)
	// option is an option whose value is the next line, or element.
	option = regexp.MustCompile(`(?i)(?:^|[\s"'\[(=])--?[\w.-]*` + secretName + `["'\\]*\s*,?\s*\\?$`)
	// atEnd is a name whose value may begin in the next piece of a line that is cut.
	atEnd = regexp.MustCompile(`(?i)(?:` + secretName + `|cookie)["'\\]*\s*$`)
	// entry is a line of a list whose next line may have the value: - name: NAME.
	entry = regexp.MustCompile(`(?i)name["']?\s*[:=]\s*["']?[\w.-]*(?:` + secretName + `|cookie)["',]*\s*$`)
	// removed is a value that is removed already.
	removed = regexp.MustCompile(`^["'\\]*` + Mark + `["'\\,;}\])\s]*$`)
)

// isSecretName reports whether the value of this name is secret.
func isSecretName(name string) bool {
	return wholeName.MatchString(name) && !isHarmless(name)
}

func isHarmless(name string) bool {
	return slices.ContainsFunc(harmlessNames, func(harmless string) bool { return strings.HasSuffix(strings.ToLower(name), harmless) })
}

// ending says what the end of a line has begun.
type ending int

const (
	complete ending = iota
	// openValue: the secret is the rest of the line, and of its continuation, which may be a block of YAML.
	openValue
	// openQuote: the secret ends with the quote.
	openQuote
	// noValue: a name without a value; it may be in the next line.
	noValue
)

// withoutNamed removes the secrets after names from a line without its line break.
func withoutNamed(line []byte) (clean []byte, end ending, open quote) {
	for {
		at := named.FindSubmatchIndex(line)
		if at == nil {
			return append(clean, line...), complete, quote{}
		}
		value := line[at[1]:]
		if at[2] >= 0 && isHarmless(string(line[max(0, at[3]-maxHarmless):at[3]])) || removed.Match(value) {
			clean, line = append(clean, line[:at[1]]...), value
			continue
		}
		clean = append(clean, line[:at[1]]...)
		q, inside := openingQuote(value)
		switch {
		case len(value) == 0:
			return clean, noValue, quote{}
		case inside == nil:
			return append(clean, Mark...), openValue, quote{}
		}
		opening := value[:len(value)-len(inside)]
		length := q.closes(inside)
		if length < 0 {
			return append(append(clean, opening...), Mark...), openQuote, q
		}
		if length > len(opening) {
			clean = append(append(append(clean, opening...), Mark...), opening...)
		} else {
			clean = append(append(clean, opening...), opening...)
		}
		line = inside[length:]
	}
}

// quote is a quotation mark, with the number of backslashes before it (of a string within a string).
type quote struct {
	mark    byte
	escapes int
}

// openingQuote returns the quote with which a text begins, and the text behind it, which is nil without a quote.
func openingQuote(text []byte) (quote, []byte) {
	escapes := len(text) - len(bytes.TrimLeft(text, `\`))
	if escapes == len(text) || text[escapes] != '"' && text[escapes] != '\'' {
		return quote{}, nil
	}
	return quote{mark: text[escapes], escapes: escapes}, text[escapes+1:]
}

// closes returns the length of the text up to behind the closing quote, with all that follows it without a break; -1 if it is not closed. A quote with twice as many backslashes and one is part of the string, one with fewer ends the string around it.
func (q quote) closes(text []byte) int {
	escapes := 0
	for i, c := range text {
		switch c {
		case '\\':
			escapes++
			continue
		case q.mark:
			unit := 2 * (q.escapes + 1)
			if escapes < q.escapes || (escapes-q.escapes)%unit == 0 {
				return q.glued(text, i+1)
			}
		}
		escapes = 0
	}
	return -1
}

// glued returns end, or the end of the text if more of the value follows the string that ends there, as in 'a'"'"'b'.
func (q quote) glued(text []byte, end int) int {
	rest := text[end:]
	if len(rest) == 0 || bytes.IndexByte([]byte(" \t\r,;:}])&\\`"), rest[0]) >= 0 {
		return end
	}
	// The end of a string around this one.
	if around := rest[0] == '"' || rest[0] == '\''; around && rest[0] != q.mark && (len(rest) == 1 || bytes.IndexByte([]byte(" \t\r,;:}])"), rest[1]) >= 0) {
		return end
	}
	return len(text)
}
