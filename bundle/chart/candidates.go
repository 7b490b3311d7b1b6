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

// candidate is a value that may keep a chart from making something up.
type candidate struct {
	path string // in the values of the chart at the top: "drawer.auth.password"
	rank int    // the lower, the more likely
	set  any    // the value to try
}

// Ranks of candidates.
const (
	readSecret = iota // a template reads it, and it is called like a secret
	readOther         // a template reads it
	listed            // values.yaml has it, empty, and it is called like a secret
	switched          // it is true or false
)

// likeSecret matches names of secrets, and of values that control their generation.
var likeSecret = regexp.MustCompile(`(?i)pass|secret|token|key|cert|tls|(^|[._-])ca([._-]|$)|cred|salt|hash|auth|cookie|existing|random|generat|seed|uuid|crt|pem`)

// reference finds names of values that name a Secret of the cluster.
var reference = regexp.MustCompile(`(?i)existing|secret_?(name|ref)$`)

// probe is the value of a candidate during a trial. It is a valid name of a Secret, hexadecimal, base64, and
// long enough where 32 bytes are required.
const probe = "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12"

// candidates are the values that the templates of differences read, through helpers and in
// subcharts, and those of the values of their charts that are called like secrets.
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
	return slices.DeleteFunc(slices.Clone(all), func(one candidate) bool { // it is a mapping, and its keys are candidates
		return slices.ContainsFunc(all, func(deeper candidate) bool { return strings.HasPrefix(deeper.path, one.path+".") })
	})
}

// global is 1 for a value that subcharts have as well, which is set if no other is.
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
		if _, err := tree.Parse(string(t.Data), "", "", set); err == nil { // Helm has parsed it before
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
		// Helpers get the paths of values as text, and look them up.
		if _, has := at(values, text); has || likeSecret.MatchString(text[strings.LastIndexByte(text, '.')+1:]) && strings.Contains(text, ".") {
			s.add(prefix, text, readOther)
		}
	}
	if own, is := values.(map[string]any); is {
		s.listed(owner, own, prefix, "")
	}
}

// maxKeys bounds the keys that replace anyKey.
const maxKeys = 20

// expand puts keys in the place of any key: those that the values have there, and words of
// the templates, as charts name their own services.
func expand(path string, values any, texts map[string]bool) []string {
	before, after, is := strings.Cut("."+path+".", "."+anyKey+".")
	if !is {
		return []string{path}
	}
	before, after = strings.Trim(before, "."), strings.Trim(after, ".")
	if after == "" || strings.Contains(after, anyKey) {
		return nil // the value of a mapping as such, or two unknown keys
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

// owner is the chart of a template, and where its values are in those of the top.
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

// listed adds the values of a chart that are empty and called like secrets, but not those of
// its subcharts.
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

// add takes a value as a candidate, unless the user has set it.
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

// trial is the value to try instead of a default; nil for a default that is not empty.
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

// at is the value of a path with dots.
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
