// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// settings are the commands and expressions for a mutant.
type settings struct {
	once, build, run, with string
	clean                  bool
	found                  []*regexp.Regexp
}

// mutant is a fault: from is replaced by to in file, which is relative to the repository, or "" if the suite makes the fault itself.
type mutant struct {
	settings
	name, file, from, to string
	// number is not 0 if the mutant is in the tree together with others: see combine.
	number int
}

// parse reads a file of mutants. Errors name the line.
func parse(name, text string) (mutants []*mutant, err error) {
	p := parser{}
	for i, line := range append(strings.Split(text, "\n"), "") {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, p.at(i), err)
		}
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(p.mutants) == 0 {
		return nil, fmt.Errorf("%s contains no mutant", name)
	}
	return p.mutants, nil
}

type parser struct {
	now     settings
	mutants []*mutant
	// current is the mutant that following lines belong to; nil among settings.
	current *mutant
	// key and value are a setting that the next line may continue.
	key, value string
	// inFound reports whether the last setting was "found".
	inFound bool
	from    []string
	to      []string
}

// at returns the number of the line that an error at index i concerns: a setting is read when the line after it is.
func (p *parser) at(i int) int {
	if p.key != "" {
		return i
	}
	return i + 1
}

func (p *parser) line(line string) error {
	trimmed := strings.TrimSpace(line)
	if p.key != "" && trimmed != "" && (line[0] == ' ' || line[0] == '\t') {
		p.value += " " + trimmed
		return nil
	}
	if err := p.endSetting(); err != nil {
		return err
	}
	switch {
	case trimmed == "" || line[0] == '#':
		return nil
	case line[0] == '-' || line[0] == '+':
		return p.text(line)
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q is neither \"key: value\" nor text after - or +", line)
	}
	value = strings.TrimSpace(value)
	switch key {
	case "mutant":
		if err := p.end(); err != nil {
			return err
		}
		p.current = &mutant{settings: p.now, name: value}
		p.inFound = false
	case "in":
		if p.current == nil {
			return fmt.Errorf("%q belongs to no mutant", line)
		}
		p.current.file = value
	default:
		if err := p.end(); err != nil {
			return err
		}
		p.key, p.value = key, value
	}
	return nil
}

// text takes a line of a replacement.
func (p *parser) text(line string) error {
	if p.current == nil || p.current.file == "" {
		return fmt.Errorf("%q belongs to no file of a mutant", line)
	}
	text := strings.TrimPrefix(line[1:], " ")
	if line[0] == '-' {
		p.from = append(p.from, text)
	} else {
		p.to = append(p.to, text)
	}
	return nil
}

// endSetting applies the setting that is complete.
func (p *parser) endSetting() error {
	key, value := p.key, p.value
	if key == "" {
		return nil
	}
	if key != "found" {
		p.inFound = false
	}
	switch key {
	case "once":
		p.now.once = value
	case "build":
		p.now.build = value
	case "run":
		p.now.run = value
	case "with":
		p.now.with = value
	case "clean":
		p.now.clean = value == "yes"
	case "found":
		expression, err := regexp.Compile("(?m)" + value)
		if err != nil {
			return err
		}
		if !p.inFound {
			p.now.found = nil
		}
		p.now.found, p.inFound = append(p.now.found[:len(p.now.found):len(p.now.found)], expression), true
	default:
		return fmt.Errorf("%q is unknown, want once, build, run, found, clean, with, mutant or in", key)
	}
	p.key = ""
	return nil
}

// end completes the current mutant.
func (p *parser) end() error {
	m := p.current
	if m == nil {
		return nil
	}
	m.from, m.to = strings.Join(p.from, "\n"), strings.Join(p.to, "\n")
	p.current, p.from, p.to = nil, nil, nil
	if m.name == "" || m.run == "" || len(m.found) == 0 {
		return fmt.Errorf("mutant %q lacks a name, or a run or found before it", m.name)
	}
	if m.file != "" && (m.from == "" || m.from == m.to) {
		return fmt.Errorf("mutant %q changes nothing: it needs text after -, and another one after +", m.name)
	}
	p.mutants = append(p.mutants, m)
	return nil
}
