package workload

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Candidate is a text that looks like an image reference, in a place that is not
// known to name an image: an argument, a variable, a setting. Only the registry can
// decide whether it is one.
type Candidate struct {
	Ref
	// Or is the second reference if the parts are ambiguous, otherwise "": the name
	// may be the last part of the repository, or only a name.
	Or string
	// Untagged: the text is only a repository, and a program adds an unknown tag.
	Untagged bool
	// Word: the text is one word without a tag, such as "busybox". It is an image only
	// if Docker Hub has an official image of this name.
	Word bool
	// Open: the text contains a variable with a value that only the cluster knows.
	Open bool
}

const (
	maxCandidates = 2000     // of one call of Likely
	maxNested     = 4        // levels of nested texts
	maxText       = 4 << 20  // bytes of one text
	maxTexts      = 16 << 20 // bytes of all texts of an object
	maxDepth      = 64       // levels of mappings and lists
	maxWords      = 200_000  // words to classify in one call of Likely
)

// Likely finds all texts in the objects that look like an image, including those that
// Images finds. unread has sentences about places that are too large to search.
// namespace is the default for objects without one.
func Likely(objects []Object, namespace string) (all []Candidate, unread []string) {
	s := searcher{seen: map[Candidate]bool{}, keys: map[string]meaning{}, settings: settingsOf(objects, namespace)}
	for _, o := range objects {
		if namesNoImages(o) && !o.IsDefinition() {
			continue
		}
		s.title, s.namespace, s.left, s.path = o.Title(namespace), namespaceOf(o, namespace), maxTexts, s.path[:0]
		s.secret = o.GetKind() == "Secret" && o.GroupVersionKind().Group == ""
		s.skip = unneeded(o)
		s.object(o)
	}
	if s.settings.left <= 0 {
		s.unread = append(s.unread, fmt.Sprintf("variables of containers expand to more than %d bytes: airgap searched the remaining texts without the values of variables", maxExpanded))
	}
	return s.found, s.unread
}

// namesNoImages reports whether a kind never names images. A text that looks like an
// image in such an object is an example or an expression.
func namesNoImages(o Object) bool {
	gvk := o.GroupVersionKind()
	switch gvk.Group {
	case "apiextensions.k8s.io", "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io",
		"storage.k8s.io", "networking.k8s.io", "policy", "scheduling.k8s.io":
		return true
	case "":
		return slices.Contains([]string{"Service", "ServiceAccount", "Namespace", "Endpoints", "PersistentVolumeClaim", "ResourceQuota", "LimitRange"}, gvk.Kind)
	case "monitoring.coreos.com":
		return slices.Contains([]string{"PrometheusRule", "ServiceMonitor", "PodMonitor", "Probe"}, gvk.Kind)
	}
	return false
}

// unneeded returns fields of known kinds that name images which no pod of an airgap
// cluster pulls. airgap installs drivers as packages, see operands.
func unneeded(o Object) []string {
	if gvk := o.GroupVersionKind(); gvk.Group == "nvidia.com" && gvk.Kind == "ClusterPolicy" {
		return []string{"spec.driver", "spec.vgpuManager"}
	}
	return nil
}

// searcher searches objects and collects candidates.
type searcher struct {
	title, namespace string
	settings         *settings
	path             []string // of the current value
	skip             []string // paths to skip
	secret           bool     // of a Secret only values below a key such as image are candidates
	left             int      // remaining bytes of texts
	classified       int      // words
	found            []Candidate
	seen             map[Candidate]bool
	unread           []string
	keys             map[string]meaning // cache by key
}

// maxKeys limits the cache of meanings.
const maxKeys = 4096

func (s *searcher) key(key string) meaning {
	m, known := s.keys[key]
	if !known {
		m = meaningOf(key)
		if len(s.keys) < maxKeys {
			s.keys[key] = m
		}
	}
	return m
}

func (s *searcher) where() string { return s.title + ", " + strings.Join(s.path, ".") }

func (s *searcher) add(c Candidate) {
	c.Where = s.where()
	if s.seen[c] {
		return
	}
	if len(s.found) == maxCandidates {
		tooMany := fmt.Sprintf("more than %d texts look like images: airgap checked only the first %[1]d", maxCandidates)
		if !slices.Contains(s.unread, tooMany) {
			s.unread = append(s.unread, tooMany)
		}
		return
	}
	s.seen[c] = true
	s.found = append(s.found, c)
}

// in calls do with the path below a key.
func (s *searcher) in(key string, do func()) {
	s.path = append(s.path, key)
	if len(s.skip) == 0 || !slices.Contains(s.skip, strings.Join(s.path, ".")) {
		do()
	}
	s.path = s.path[:len(s.path)-1]
}

func (s *searcher) object(o Object) {
	if o.IsDefinition() {
		s.definition(o)
		return
	}
	for key, value := range sorted(o.Object) {
		switch {
		case key == "status" || key == "apiVersion" || key == "kind":
		case key == "data" && s.secret:
			s.in(key, func() { s.encoded(value) })
		default:
			s.in(key, func() { s.value(key, value, context{}) })
		}
	}
}

// encoded searches the decoded texts of a Secret's data.
func (s *searcher) encoded(value any) {
	data, _ := value.(map[string]any)
	plain := make(map[string]any, len(data))
	for key, value := range data {
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
			plain[key] = string(decoded)
		}
	}
	s.mapping(plain, context{})
}

// context describes the surroundings of a value.
type context struct {
	named     bool // a key above names an image
	container bool // the value is in a list of containers
	hub       hub  // of the surrounding mappings
	flat      bool // the value is a line of a text and contains no nested text
	expands   bool // the kubelet replaces $(NAME) with values
	nested    int  // levels of surrounding texts
	depth     int  // levels of surrounding mappings and lists
}

func (s *searcher) value(key string, value any, c context) {
	if c.depth++; c.depth > maxDepth {
		s.unread = append(s.unread, s.where()+": airgap did not search this value for images, because it is too deeply nested")
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if key == "metadata" {
			v = annotationsOf(v)
		}
		c.named = s.key(key).named
		s.mapping(v, c)
	case []any:
		c.named = c.named || s.key(key).named
		s.list(key, v, c)
	case string:
		c.named = c.named || s.key(key).named
		s.scalar(key, v, c)
	}
}

// annotationsOf returns the part of metadata that may name images.
func annotationsOf(metadata map[string]any) map[string]any {
	annotations, is := metadata["annotations"].(map[string]any)
	if !is {
		return nil
	}
	kept := map[string]any{}
	for key, value := range annotations {
		if key != "kubectl.kubernetes.io/last-applied-configuration" && !strings.HasPrefix(key, "meta.helm.sh/") {
			kept[key] = value
		}
	}
	return map[string]any{"annotations": kept}
}

func (s *searcher) mapping(m map[string]any, c context) {
	if isOff(m) {
		return
	}
	m = s.settings.expanded(m, s.namespace)
	c.hub = hubOf(m, c.hub)
	joined := s.parts(m, c)
	listed := c.container // Images has the containers of these lists
	container := listed || isContainer(m)
	c.container = false
	for key, value := range sorted(m) {
		below := c
		if k := s.key(key); k.aside || k.part != "" && k.part != imagePart {
			below.named = false
		}
		below.expands = c.expands || container && (key == "command" || key == "args" || key == "env")
		text, isText := value.(string)
		switch {
		case joined[key] || isAside(key) || key == "resources" && areLimits(value):
		case key == "image" && listed && isText && c.nested == 0 && formOf(text) != whole:
			// Images finds it, or it is the placeholder of Istio.
		case key == "image" && isText && !container && c.hub.of(text) != "":
			s.in(key, func() { s.add(Candidate{Ref: Ref{Image: c.hub.of(text)}}) })
		case key == "image" && container && formOf(strings.TrimSpace(text)) == untagged:
			s.in(key, func() { s.add(Candidate{Ref: Ref{Image: strings.TrimSpace(text)}}) }) // with the tag latest
		default:
			s.in(key, func() { s.value(key, value, below) })
		}
	}
}

// isOff reports whether a part of a configuration is disabled.
func isOff(m map[string]any) bool {
	switch on := m["enabled"].(type) {
	case bool:
		return !on
	case string:
		return on == "false"
	}
	return false
}

// isAside reports whether no value below a key is an image: labels, and the example
// that Knative writes into its ConfigMaps.
func isAside(key string) bool {
	switch key {
	case "labels", "matchLabels", "selector", "matchExpressions", "nodeSelector", "managedFields", "_example", "imagePullSecrets":
		return true
	}
	return false
}

// areLimits reports whether the value of "resources" has the requests and limits of a
// container.
func areLimits(value any) bool {
	m, _ := value.(map[string]any)
	return m["limits"] != nil || m["requests"] != nil || m["claims"] != nil
}

// isContainer reports whether a mapping looks like a container of a pod. Its image
// then has the tag latest by default.
func isContainer(m map[string]any) bool {
	for _, key := range []string{"command", "args", "imagePullPolicy", "volumeMounts", "env", "envFrom", "workingDir", "script", "securityContext", "livenessProbe"} {
		if _, has := m[key]; has {
			return true
		}
	}
	return false
}

func (s *searcher) list(key string, list []any, c context) {
	if variables := variablesOf(list); variables != nil {
		s.mapping(variables, c)
		return
	}
	if words := wordsIn(list); words != nil {
		s.arguments(words, c)
		return
	}
	_, c.container = containerLists(key)
	for i, item := range list {
		at := fmt.Sprint(i)
		if m, is := item.(map[string]any); is {
			if name, is := m["name"].(string); is && isWord(name) && len(name) <= maxKey {
				at = name
			}
		}
		s.in(at, func() { s.value(key, item, c) })
	}
}

// variablesOf returns pairs of name and value as a mapping: env of a container,
// parameters of a workflow. It returns nil for other lists.
func variablesOf(list []any) map[string]any {
	variables := map[string]any{}
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" {
			return nil
		}
		for key, value := range m {
			switch key {
			case "value", "default":
				variables[name] = value
			case "name", "valueFrom", "type", "description":
			default:
				return nil
			}
		}
	}
	if len(variables) == 0 {
		return nil
	}
	return variables
}

// wordsIn returns a list of texts, or nil for other lists.
func wordsIn(list []any) []string {
	words := make([]string, 0, len(list))
	for _, item := range list {
		text, is := item.(string)
		if !is {
			return nil
		}
		words = append(words, text)
	}
	return words
}
