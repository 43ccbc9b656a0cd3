// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Flags are settings on the command line. They win over the configuration file, and survive tools that rewrite the file and
// know only Antrea's keys.
type Flags struct {
	gates, settings []string
}

// Add adds the flags --feature-gates and --set.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.gates, "feature-gates", nil,
		"Feature gates, NAME=true or NAME=false, separated by commas; they win over featureGates of the configuration file")
	flags.StringArrayVar(&f.settings, "set", nil,
		"A key of the configuration file and its value, for example tunnelPort=4790; it wins over the file; can be repeated")
}

// Apply puts the settings into config, a pointer to the structure of a configuration file, and the gates into featureGates, its
// map of them. An error names flag and value of all settings that cannot be applied.
func (f *Flags) Apply(config any, featureGates *map[string]bool) error {
	gates, err := f.FeatureGates()
	errs := []error{err}
	for _, setting := range f.settings {
		if err := set(reflect.ValueOf(config).Elem(), setting); err != nil {
			errs = append(errs, fmt.Errorf("--set %s: %w", setting, err))
		}
	}
	*featureGates = Merge(*featureGates, gates)
	return errors.Join(errs...)
}

// FeatureGates returns what --feature-gates says. Of two values for one gate the last one counts.
func (f *Flags) FeatureGates() (map[string]bool, error) {
	gates := map[string]bool{}
	var errs []error
	for _, text := range f.gates {
		name, value, _ := strings.Cut(text, "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); name == "" || err != nil {
			errs = append(errs, fmt.Errorf("--feature-gates: %q is not a feature gate with its value; allowed: NAME=true, NAME=false", text))
			continue
		}
		gates[name] = on
	}
	return gates, errors.Join(errs...)
}

// Merge returns the gates of both maps; stronger wins.
func Merge(weaker, stronger map[string]bool) map[string]bool {
	merged := map[string]bool{}
	for _, gates := range []map[string]bool{weaker, stronger} {
		for name, on := range gates {
			merged[name] = on
		}
	}
	return merged
}

// Sources says where the settings come from, for messages.
func (f *Flags) Sources(file string) string {
	text := "configuration file " + file
	for _, gate := range f.gates {
		text += " --feature-gates=" + gate
	}
	for _, setting := range f.settings {
		text += " --set=" + setting
	}
	return text
}

// set applies "key=value", where key is a path such as oncache.mode. Text needs no quotes; other values are YAML.
func set(config reflect.Value, setting string) error {
	key, text, found := strings.Cut(setting, "=")
	if !found {
		return errors.New("not KEY=VALUE")
	}
	value, err := find(config, key)
	if err != nil {
		return err
	}
	switch value.Kind() {
	case reflect.Struct:
		return fmt.Errorf("%s is a section; its keys: %s", key, strings.Join(keys(value.Type(), key+"."), ", "))
	case reflect.Map:
		return fmt.Errorf("%s cannot be set in this way; use --feature-gates=NAME=true", key)
	case reflect.String:
		value.SetString(text)
		return nil
	}
	fresh := reflect.New(value.Type())
	if err := yaml.Unmarshal([]byte(text), fresh.Interface()); err != nil || strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s: %q is not %s", key, text, description(value.Type()))
	}
	value.Set(fresh.Elem())
	return nil
}

// find returns the value of a key.
func find(config reflect.Value, key string) (reflect.Value, error) {
	section := ""
	for name := range strings.SplitSeq(key, ".") {
		if config.Kind() != reflect.Struct {
			return config, fmt.Errorf("unknown key; %s has no keys below it", strings.TrimSuffix(section, "."))
		}
		known := keys(config.Type(), section)
		field := slices.Index(known, section+name)
		if field < 0 {
			return config, fmt.Errorf("unknown key; known: %s", strings.Join(known, ", "))
		}
		config, section = config.Field(field), section+name+"."
	}
	return config, nil
}

// keys returns the keys of a section in the order of its fields.
func keys(section reflect.Type, prefix string) []string {
	var keys []string
	for i := range section.NumField() {
		name, _, _ := strings.Cut(section.Field(i).Tag.Get("json"), ",")
		keys = append(keys, prefix+name)
	}
	return keys
}

// description says what values of a type look like.
func description(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list such as [a, b]"
	case reflect.Uint32:
		return "a whole number of at least 0"
	default:
		return "a number"
	}
}
