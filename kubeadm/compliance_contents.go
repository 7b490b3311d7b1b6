package kubeadm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/process"
)

// readContents compares the content of a file in an argument of the API server.
func (r reader) readContents(f *Finding) {
	p, runs := r.program(f, node.APIServer)
	if !runs {
		return
	}
	flag, _, _ := strings.Cut(f.Name, ":")
	name := p.Flags[flag]
	if name == "" {
		r.judge(f, nil)
		if r.leftOut(f.Name) {
			f.State = Chosen
		}
		return
	}
	content, err := r.readYAML(p, name)
	if err != nil {
		f.unknown(err)
		return
	}
	switch f.Name {
	case anonymousContents:
		f.judgeAnonymous(content)
	case issuerContents:
		r.judgeIssuers(f, content)
	case encryptionContents:
		f.judgeEncryption(content)
	case policyContents:
		r.judgePolicy(f, p, content)
	}
}

// leftOut reports whether airgap.yaml configures the API server without a file.
func (r reader) leftOut(name string) bool {
	return name == encryptionContents && r.site.decides(Control{Part: node.APIServer, Name: "encryption-provider-config"}) == nil ||
		name == policyContents && r.site.Audit.Log == NoAudit
}

// readYAML does not quote the file in its errors: one of the files contains keys.
func (r reader) readYAML(p process.Process, name string) (map[string]any, error) {
	text, err := node.Read(r.m.Machine, p, name)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if yaml.Unmarshal(text, &content) != nil || content == nil {
		return nil, errors.New(name + " cannot be read as YAML")
	}
	return content, nil
}

func (f *Finding) judgeAnonymous(content map[string]any) {
	var ours map[string]any
	if err := yaml.Unmarshal(anonymousRule, &ours); err != nil {
		f.unknown(err)
		return
	}
	rule, _ := content["anonymous"].(map[string]any)
	paths, want := conditions(rule), conditions(ours["anonymous"].(map[string]any))
	f.State = Differs
	switch {
	case rule == nil:
		f.Found = "the section anonymous is missing: everybody, at every path"
	case rule["enabled"] != true:
		f.Found = "disabled: the API server refuses the kubelet's probes"
	case len(paths) == 0:
		f.Found = "everybody, at every path"
	default:
		f.Found = strings.Join(paths, ", ")
		if slices.Equal(paths, want) {
			f.State = Compliant
		}
	}
}

// conditions are the paths of a rule, sorted.
func conditions(rule map[string]any) []string {
	list, _ := rule["conditions"].([]any)
	var paths []string
	for _, item := range list {
		paths = append(paths, overlay.TextOf(item, "path"))
	}
	slices.Sort(paths)
	return paths
}

func (r reader) judgeIssuers(f *Finding, content map[string]any) {
	found, _ := content["jwt"].([]any)
	var urls []string
	for _, jwt := range found {
		jwt, _ := jwt.(map[string]any)
		address, _ := lookup(jwt, []string{"issuer", "url"}).(string)
		urls = append(urls, address)
	}
	f.Found = strings.Join(urls, ", ")
	switch want := r.site.Authentication.JWT; {
	case len(found) == 0 && len(want) == 0:
		f.Found, f.State = "none", Compliant
	case equalJSON(found, want):
		f.State = Chosen
	case len(found) == 0:
		f.Found, f.State = "none", Differs
	default:
		f.State = Differs
	}
}

// judgeEncryption checks the provider that encrypts Secrets when they are written: the first
// provider of the first entry for secrets.
func (f *Finding) judgeEncryption(content map[string]any) {
	entries, _ := content["resources"].([]any)
	for _, entry := range entries {
		entry, _ := entry.(map[string]any)
		resources, _ := entry["resources"].([]any)
		if !slices.ContainsFunc(resources, func(name any) bool { return name == "secrets" || name == "secrets." || name == "*." || name == "*.*" }) {
			continue
		}
		providers, _ := entry["providers"].([]any)
		first := "no provider"
		if len(providers) > 0 {
			provider, _ := providers[0].(map[string]any)
			for name := range provider {
				first = name
			}
		}
		f.Found, f.State = first, Compliant
		if !slices.Contains([]string{encryption.Secretbox, encryption.AESCBC, "aesgcm", "kms"}, first) {
			f.State = Differs
		}
		return
	}
	f.Found, f.State = "no entry for secrets: they are plain text", Differs
}

func (r reader) judgePolicy(f *Finding, p process.Process, content map[string]any) {
	rules, _ := content["rules"].([]any)
	f.State, f.Found = Differs, fmt.Sprintf("%d rules, not airgap's policy", len(rules))
	if logsNothing(rules) {
		f.Found = "rules that log nothing"
	}
	for _, variable := range policyEnv(r.site) {
		if started, set := p.Env[overlay.NameOf(variable)]; set && started != overlay.TextOf(variable, "value") {
			f.Found = "the API server started with another policy"
			return
		}
	}
	if is, err := equalsPolicy(content, r.plain.Audit); err == nil && is {
		f.State, f.Found = Compliant, "airgap's policy"
		return
	}
	if is, err := equalsPolicy(content, r.site.Audit); err == nil && is {
		f.State, f.Found = Chosen, "the policy of airgap.yaml"
	}
}

func equalsPolicy(content map[string]any, a Audit) (bool, error) {
	text, err := a.policy()
	if err != nil {
		return false, err
	}
	var want map[string]any
	err = yaml.Unmarshal(text, &want)
	return equalJSON(content, want), err
}

// authorizers are the modes of the file that --authorization-config names.
func (r reader) authorizers(p process.Process) (string, error) {
	content, err := r.readYAML(p, p.Flags["authorization-config"])
	if err != nil {
		return "", err
	}
	list, _ := content["authorizers"].([]any)
	var modes []string
	for _, item := range list {
		modes = append(modes, overlay.TextOf(item, "type"))
	}
	return strings.Join(modes, ","), nil
}

// equalJSON compares values after a conversion to JSON, which has only one type of number.
func equalJSON(a, b any) bool {
	plain := func(v any) (p any) {
		text, err := json.Marshal(v)
		if err != nil || json.Unmarshal(text, &p) != nil {
			return v
		}
		return p
	}
	return reflect.DeepEqual(plain(a), plain(b))
}
