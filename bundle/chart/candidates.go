package chart

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	helm "helm.sh/helm/v4/pkg/chart/v2"
)

// candidate is a value that may prevent a chart from generating something.
type candidate struct {
	path string // in the values of the top chart: "drawer.auth.password"
	rank int    // a lower rank is more likely
	set  any    // the value to try
}

// Ranks of candidates.
const (
	readSecret = iota // a template reads it, and its name is like a secret's
	readOther         // a template reads it
	listed            // it is empty in values.yaml, and its name is like a secret's
	switched          // it is true or false
)

// likeSecret matches the names of secrets, and of values that control their generation.
var likeSecret = regexp.MustCompile(`(?i)pass|secret|token|key|cert|tls|(^|[._-])ca([._-]|$)|cred|salt|hash|auth|cookie|existing|random|generat|seed|uuid|crt|pem`)

// reference matches names of values that refer to a Secret in the cluster.
var reference = regexp.MustCompile(`(?i)existing|secret_?(name|ref)$`)

// probe is the value of a candidate in a trial. It is valid as the name of a Secret, as hexadecimal, as base64,
// and as a key of 32 bytes.
const probe = "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12"

// candidates returns the values that the templates of the differences read, also through
// helpers and in subcharts, and values of their charts with names like secrets.
func (r *rendering) candidates(differ []difference, given map[string]any) []candidate {
	s := search{rendering: r, given: given, found: map[string]candidate{}, defines: map[string]*parse.Tree{}}
	s.collect(r.chart)
	templates := map[string]bool{}
	for _, d := range differ {
		templates[d.template] = true
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		s.template(name)
	}
	all := slices.SortedFunc(maps.Values(s.found), func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.global(), b.global()), strings.Compare(a.path, b.path))
	})
	all = all[:min(len(all), maxTrials)]
	return slices.DeleteFunc(slices.Clone(all), func(one candidate) bool { // a mapping with keys that are candidates
		return slices.ContainsFunc(all, func(deeper candidate) bool { return strings.HasPrefix(deeper.path, one.path+".") })
	})
}

// global is 1 for a global value, which comes after other values.
func (c candidate) global() int {
	if strings.HasPrefix(c.path, "global.") {
		return 1
	}
	return 0
}

type search struct {
	*rendering
	given   map[string]any
	found   map[string]candidate
	defines map[string]*parse.Tree // named templates and files of all charts, by name
}

// collect parses the templates of a chart and its dependencies.
func (s *search) collect(c *helm.Chart) {
	for _, t := range c.Templates {
		name := c.ChartFullPath() + "/" + t.Name
		tree := parse.New(name)
		tree.Mode = parse.SkipFuncCheck
		set := map[string]*parse.Tree{}
		if _, err := tree.Parse(string(t.Data), "", "", set); err == nil { // Helm has already parsed it
			maps.Copy(s.defines, set)
		}
	}
	for _, d := range c.Dependencies() {
		s.collect(d)
	}
}

// template collects the values that one template reads, and the values of its chart.
func (s *search) template(name string) {
	owner, prefix := s.owner(name)
	read := reader{defines: s.defines, seen: map[string]bool{}}
	read.named(name, unknown)
	values, _ := at(s.values, strings.TrimSuffix(prefix, "."))
	for _, path := range slices.Sorted(maps.Keys(read.paths)) {
		for _, one := range expand(path, values, read.texts) {
			s.add(prefix, one, readOther)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(read.texts)) {
		if s.defines[text] != nil {
			continue
		}
		// Some helpers get the path of a value as text.
		if _, has := at(values, text); has || likeSecret.MatchString(text[strings.LastIndexByte(text, '.')+1:]) && strings.Contains(text, ".") {
			s.add(prefix, text, readOther)
		}
	}
	if own, is := values.(map[string]any); is {
		s.listed(owner, own, prefix, "")
	}
}

// maxKeys limits the number of keys that replace anyKey.
const maxKeys = 20

// expand replaces anyKey with the keys that the values have, and with words of the
// templates, because charts contain the names of their services.
func expand(path string, values any, texts map[string]bool) []string {
	before, after, is := strings.Cut("."+path+".", "."+anyKey+".")
	if !is {
		return []string{path}
	}
	before, after = strings.Trim(before, "."), strings.Trim(after, ".")
	if after == "" || strings.Contains(after, anyKey) {
		return nil // all values of a mapping, or two unknown keys
	}
	below, _ := at(values, before)
	var keys []string
	if m, is := below.(map[string]any); is {
		keys = slices.Sorted(maps.Keys(m))
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if strings.Contains(text, "-") && !strings.Contains(text, ".") {
			keys = append(keys, text)
		}
	}
	var all []string
	for _, key := range keys[:min(len(keys), maxKeys)] {
		all = append(all, strings.TrimPrefix(before+"."+key+"."+after, "."))
	}
	return all
}

// owner returns the chart of a template, and the prefix of its values in the top values.
func (s *search) owner(name string) (*helm.Chart, string) {
	owner, prefix := s.chart, ""
	for _, sub := range strings.Split(name, "/charts/")[1:] {
		sub, _, _ = strings.Cut(sub, "/")
		if i := slices.IndexFunc(owner.Dependencies(), func(c *helm.Chart) bool { return c.Name() == sub }); i >= 0 {
			owner, prefix = owner.Dependencies()[i], prefix+sub+"."
		}
	}
	return owner, prefix
}

// listed adds empty values of a chart with names like secrets, without the values of its
// subcharts.
func (s *search) listed(owner *helm.Chart, values map[string]any, prefix, below string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if below == "" && (key == "global" || slices.ContainsFunc(owner.Dependencies(), func(d *helm.Chart) bool { return d.Name() == key })) {
			continue
		}
		path := below + key
		if deeper, is := values[key].(map[string]any); is && len(deeper) > 0 {
			s.listed(owner, deeper, prefix, path+".")
		} else if likeSecret.MatchString(path) {
			s.add(prefix, path, listed)
		}
	}
}

// add adds a value as a candidate, unless the user has set it.
func (s *search) add(prefix, path string, rank int) {
	if !strings.HasPrefix(path, "global.") {
		path = prefix + path
	}
	if value, has := at(s.given, path); has && value != nil && value != "" && value != false && value != true {
		return
	}
	value, _ := at(s.values, path)
	set := trial(value)
	if set == nil {
		return
	}
	if _, is := set.(bool); is {
		rank = switched
	} else if rank == readOther && likeSecret.MatchString(path[strings.LastIndexByte(path, '.')+1:]) {
		rank = readSecret
	}
	if other, known := s.found[path]; !known || rank < other.rank {
		s.found[path] = candidate{path, rank, set}
	}
}

// trial returns the value to try instead of a default; nil for a default that is not empty.
func trial(value any) any {
	switch value := value.(type) {
	case nil:
		return probe
	case string:
		if value == "" {
			return probe
		}
	case bool:
		return !value
	case []any:
		if len(value) == 0 {
			return []any{probe}
		}
	}
	return nil
}

// at returns the value at a path with dots.
func at(values any, path string) (any, bool) {
	if path == "" {
		return values, true
	}
	for key := range strings.SplitSeq(path, ".") {
		m, is := values.(map[string]any)
		if !is {
			return nil, false
		}
		if values, is = m[key]; !is {
			return nil, false
		}
	}
	return values, true
}
