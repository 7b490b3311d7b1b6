package workload

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Candidate is a text that looks like an image reference and stands where no
// pod is known to pull from: an argument, a variable, a setting. Only its
// registry can say whether it is one.
type Candidate struct {
	Ref
	// Or is the other reading of parts that can be joined in two ways, "" for
	// none: the name may be the last part of the repository, or only a name.
	Or string
	// Untagged: the text names a repository only, and a program adds a tag that
	// nobody here knows.
	Untagged bool
	// Word: it is one word without a tag, such as "busybox", which is an image only
	// if Docker Hub has it among its own.
	Word bool
	// Open: a variable stands in the text whose value only the cluster knows.
	Open bool
}

const (
	maxCandidates = 2000     // of one call of Likely
	maxNested     = 4        // texts inside of texts
	maxText       = 4 << 20  // bytes of one text
	maxTexts      = 16 << 20 // bytes of all texts of an object
	maxDepth      = 64       // of mappings and lists
	maxWords      = 200_000  // that are judged in one call of Likely
)

// Likely finds what looks like an image in all objects, Images' own findings
// among them. unread are the places that are too large to be searched, as
// sentences. namespace is where objects without one go.
func Likely(objects []Object, namespace string) (all []Candidate, unread []string) {
	s := scout{seen: map[Candidate]bool{}, keys: map[string]meaning{}, settings: settingsOf(objects, namespace)}
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
		s.unread = append(s.unread, fmt.Sprintf("variables of containers make more than %d bytes: the rest is searched as it is written", maxExpanded))
	}
	return s.found, s.unread
}

// namesNoImages leaves out kinds that describe, allow or measure: what looks
// like an image there is an example or an expression.
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

// unneeded are fields of known kinds that name images which no pod of an
// airgap cluster pulls. Drivers come as packages, see operands.
func unneeded(o Object) []string {
	if gvk := o.GroupVersionKind(); gvk.Group == "nvidia.com" && gvk.Kind == "ClusterPolicy" {
		return []string{"spec.driver", "spec.vgpuManager"}
	}
	return nil
}

// scout goes through objects and collects candidates.
type scout struct {
	title, namespace string
	settings         *settings
	path             []string // of the value that is looked at
	skip             []string // paths that are left out
	secret           bool     // only what a key names counts: nothing of a secret is guessed
	left             int      // bytes of texts that may be read yet
	judged           int      // words
	found            []Candidate
	seen             map[Candidate]bool
	unread           []string
	keys             map[string]meaning // of keys, which repeat
}

// maxKeys bounds the keys whose meaning is remembered.
const maxKeys = 4096

func (s *scout) key(key string) meaning {
	m, known := s.keys[key]
	if !known {
		m = meaningOf(key)
		if len(s.keys) < maxKeys {
			s.keys[key] = m
		}
	}
	return m
}

func (s *scout) where() string { return s.title + ", " + strings.Join(s.path, ".") }

func (s *scout) add(c Candidate) {
	c.Where = s.where()
	if s.seen[c] {
		return
	}
	if len(s.found) == maxCandidates {
		const tooMany = "there are more texts that look like images than are listed"
		if !slices.Contains(s.unread, tooMany) {
			s.unread = append(s.unread, tooMany)
		}
		return
	}
	s.seen[c] = true
	s.found = append(s.found, c)
}

// in does something below a key.
func (s *scout) in(key string, do func()) {
	s.path = append(s.path, key)
	if len(s.skip) == 0 || !slices.Contains(s.skip, strings.Join(s.path, ".")) {
		do()
	}
	s.path = s.path[:len(s.path)-1]
}

func (s *scout) object(o Object) {
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

// encoded are the texts of a Secret's data.
func (s *scout) encoded(value any) {
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

// context is what is known of a value from what is around it.
type context struct {
	named     bool // a key above says that it is an image
	container bool // it stands in a list of containers
	hub       hub  // of the mappings around it
	flat      bool // it is a line of a text: nothing is nested in it
	expands   bool // the kubelet puts values in the place of $(NAME)
	nested    int  // texts around it
	depth     int  // mappings and lists around it
}

func (s *scout) value(key string, value any, c context) {
	if c.depth++; c.depth > maxDepth {
		s.unread = append(s.unread, s.where()+": is nested too deep to be searched for images")
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

// annotationsOf leaves of metadata what may name images.
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

func (s *scout) mapping(m map[string]any, c context) {
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
			// Images has it, or it is Istio's.
		case key == "image" && isText && !container && c.hub.of(text) != "":
			s.in(key, func() { s.add(Candidate{Ref: Ref{Image: c.hub.of(text)}}) })
		case key == "image" && container && formOf(strings.TrimSpace(text)) == untagged:
			s.in(key, func() { s.add(Candidate{Ref: Ref{Image: strings.TrimSpace(text)}}) }) // the latest one
		default:
			s.in(key, func() { s.value(key, value, below) })
		}
	}
}

// isOff reports whether a part of a configuration is switched off.
func isOff(m map[string]any) bool {
	switch on := m["enabled"].(type) {
	case bool:
		return !on
	case string:
		return on == "false"
	}
	return false
}

// isAside are keys below which no image is named: labels, and what Knative
// writes into its ConfigMaps as an example.
func isAside(key string) bool {
	switch key {
	case "labels", "matchLabels", "selector", "matchExpressions", "nodeSelector", "managedFields", "_example", "imagePullSecrets":
		return true
	}
	return false
}

// areLimits reports whether what stands below "resources" is a container's.
func areLimits(value any) bool {
	m, _ := value.(map[string]any)
	return m["limits"] != nil || m["requests"] != nil || m["claims"] != nil
}

// isContainer reports whether a mapping looks like a container of a pod: an
// image without a tag is then the latest one.
func isContainer(m map[string]any) bool {
	for _, key := range []string{"command", "args", "imagePullPolicy", "volumeMounts", "env", "envFrom", "workingDir", "script", "securityContext", "livenessProbe"} {
		if _, has := m[key]; has {
			return true
		}
	}
	return false
}

func (s *scout) list(key string, list []any, c context) {
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

// variablesOf are pairs of name and value as a mapping: a container's env,
// parameters of a workflow. It is nil for other lists.
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

// wordsIn is a list of texts, or nil.
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
