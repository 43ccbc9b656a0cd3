// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"io"
	"regexp"
)

const (
	// maxLine is the length of the longest line that is examined at once. Longer ones are cut where a word ends.
	maxLine = 1 << 20
	// maxQuoted is the number of lines after which a quote that is not closed is taken for a mistake.
	maxQuoted = 64
)

var (
	keyBegins = []byte("-----BEGIN ")
	keyEnds   = []byte("-----END ")
	keyNames  = []byte("PRIVATE KEY-----")
	// mapping is a line of a mapping: the one before it has no value.
	mapping = regexp.MustCompile(`^["']?[\w./-]+["']?\s*:(?:\s|$)|^(?:---|\.\.\.)$`)
	// pair is the value of an entry of a list.
	pair = regexp.MustCompile(`(?i)^["']?value["']?\s*[:=]\s*`)
)

// Writer passes text on without secrets, a line at a time.
type Writer struct {
	to io.Writer
	// longest is the length of the longest piece of text that is examined at once.
	longest int
	// rest is the beginning of a line that is not complete.
	rest []byte
	// inKey is set within a private key of several lines.
	inKey bool
	// cut is set behind the beginning of a line that is too long, restHidden if all of it that follows belongs to a secret.
	cut, restHidden bool
	// open is the quote of a secret of several lines, if quoted is not 0; quoted is the number of lines left.
	open   quote
	quoted int
	// hiding is set while lines belong to a secret that is indented by more than column; items of a list also if indented by column.
	hiding, items bool
	column        int
	// awaits says which value the next line may have.
	awaits awaited
}

type awaited int

const (
	nothing awaited = iota
	// nameValue is the value of a name at column, assignedValue the one after an equals sign, which is only a more indented line.
	nameValue
	assignedValue
	// optionValue is the one of an option: the next line. itemValue is the next item of a list.
	optionValue
	itemValue
	// pairValue is the value of an entry with a name.
	pairValue
)

// NewWriter returns a Writer to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, longest: maxLine} }

// Write takes the next part of the text.
func (r *Writer) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	done := 0
	for {
		end := bytes.IndexByte(r.rest[done:], '\n') + 1
		if end == 0 && len(r.rest)-done > r.longest {
			end = lastBreak(r.rest[done : done+r.longest])
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
	*r = Writer{to: r.to, longest: r.longest}
	return err
}

// line passes on a line, or a piece of one that is too long.
func (r *Writer) line(line []byte) error {
	text := bytes.TrimRight(line, "\r\n")
	lineBreak := line[len(text):]
	// A piece has no line break, nor has the end of the text, after which nothing comes.
	continued := r.cut
	r.cut = !bytes.HasSuffix(line, []byte("\n"))
	switch {
	case r.restHidden:
		if r.restHidden = r.cut; r.restHidden {
			return nil
		}
		return r.write(nil, lineBreak)
	case r.inKey:
		r.inKey = !bytes.Contains(line, keyEnds)
		return nil
	case r.quoted > 0:
		if text = r.unquoted(text); text == nil {
			return nil
		}
	case !continued:
		if hidden, instead := r.belongs(text); hidden {
			r.restHidden = r.cut
			if instead == nil {
				return nil
			}
			return r.write(instead, lineBreak)
		}
	}
	if begin := bytes.Index(text, keyBegins); begin >= 0 && bytes.Contains(text[begin:], keyNames) && !bytes.Contains(text[begin:], keyEnds) {
		r.inKey = true
		text = append(bytes.Clone(text[:begin]), Mark...)
	}
	return r.write(r.clean(text), lineBreak)
}

// clean removes the secrets from a text, and notes what follows.
func (r *Writer) clean(text []byte) []byte {
	lower := bytes.ToLower(text)
	text = withoutForms(text, lower)
	if !isHinted(lower) {
		return text
	}
	clean, end, open := withoutNamed(text)
	indent, column, item := margins(text)
	trimmed := bytes.TrimSpace(clean)
	switch {
	case end == openQuote:
		r.open, r.quoted = open, maxQuoted
	case end == openValue, bytes.Contains(lower, []byte(lastApplied)) && bytes.HasSuffix(trimmed, []byte(Mark)):
		r.hiding, r.items, r.column, r.restHidden = true, false, column, r.cut
	case option.Match(trimmed):
		r.awaits, r.column, r.restHidden = optionValue, indent, r.cut
		if item {
			r.awaits = itemValue
		}
	case end == noValue:
		r.awaits, r.column, r.restHidden = nameValue, column, r.cut
		if bytes.HasSuffix(trimmed, []byte("=")) {
			r.awaits = assignedValue
		}
	case entry.Match(trimmed):
		r.awaits, r.column = pairValue, column
	case r.cut:
		r.restHidden = atEnd.Match(text)
	}
	return clean
}

// unquoted returns what follows the end of a secret in quotes that has begun before this text, or nil. Its line break remains.
func (r *Writer) unquoted(text []byte) []byte {
	if r.quoted--; r.quoted == 0 {
		return text
	}
	length := r.open.closes(text)
	if length < 0 {
		return nil
	}
	r.quoted = 0
	return append([]byte{}, text[length:]...)
}

// belongs reports whether a line belongs to a secret that has begun before it, and what to show instead; nil means not even a line break.
func (r *Writer) belongs(text []byte) (hidden bool, instead []byte) {
	trimmed := bytes.TrimSpace(text)
	indent, column, item := margins(text)
	if len(trimmed) == 0 {
		return false, nil
	}
	if r.hiding = r.hiding && (indent > r.column || r.items && item && indent == r.column); r.hiding {
		return true, nil
	}
	awaits := r.awaits
	r.awaits = nothing
	switch awaits {
	case nothing:
		return false, nil
	case nameValue:
		hidden = indent > r.column || item && indent == r.column || !mapping.Match(trimmed)
	case assignedValue:
		hidden = indent > r.column
	case optionValue:
		hidden = true
	case itemValue:
		hidden = indent > r.column || item && indent == r.column
	case pairValue:
		if value := pair.FindIndex(trimmed); column == r.column && value != nil {
			begin := bytes.Index(text, trimmed) + value[1]
			r.hiding, r.items = true, false
			return true, append(bytes.Clone(text[:begin]), Mark...)
		}
		return false, nil
	}
	if !hidden {
		return false, nil
	}
	r.hiding, r.items = true, awaits == nameValue && item
	if awaits == optionValue || awaits == itemValue {
		r.column = indent
	}
	return true, append(bytes.Clone(text[:column]), Mark...)
}

// margins are the indentation of a line, and the column of its text behind the dashes of a list.
func margins(text []byte) (indent, column int, item bool) {
	for column < len(text) && (text[column] == ' ' || text[column] == '\t') {
		column++
	}
	indent = column
	for column+1 < len(text) && text[column] == '-' && text[column+1] == ' ' {
		item = true
		column++
		for column < len(text) && text[column] == ' ' {
			column++
		}
	}
	return indent, column, item
}

func (r *Writer) write(text, lineBreak []byte) error {
	if _, err := r.to.Write(text); err != nil || len(lineBreak) == 0 {
		return err
	}
	_, err := r.to.Write(lineBreak)
	return err
}

// lastBreak is the length of text up to the last place where a word ends, or all of it.
func lastBreak(text []byte) int {
	if i := bytes.LastIndexAny(text, " ,;\t{}[]"); i > 0 {
		return i + 1
	}
	return len(text)
}
