package workload

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Limits of expanded variables, in bytes: variables that contain other variables grow
// exponentially.
const (
	maxGrowth   = 64 << 10 // of one text
	maxExpanded = 16 << 20 // of all texts with expanded variables
)

// settings has the values of variables.
type settings struct {
	maps map[string]map[string]any // data of ConfigMaps, by "namespace/name"
	left int                       // remaining bytes of expanded texts
}

func settingsOf(objects []Object, namespace string) *settings {
	all := map[string]map[string]any{}
	for _, o := range objects {
		if data, _ := o.Object["data"].(map[string]any); len(data) > 0 && o.GetKind() == "ConfigMap" && o.GroupVersionKind().Group == "" {
			all[namespaceOf(o, namespace)+"/"+o.GetName()] = data
		}
	}
	return &settings{all, maxExpanded}
}

func namespaceOf(o Object, namespace string) string {
	if ns := o.GetNamespace(); ns != "" {
		return ns
	}
	return namespace
}

// expanded returns a container as the kubelet starts it, with the values of variables
// in its arguments and its other variables. Unknown variables stay unchanged.
func (s *settings) expanded(container map[string]any, namespace string) map[string]any {
	if !mentionsVariables(container) {
		return container
	}
	env, values := s.variables(container, namespace)
	result := maps.Clone(container)
	if env != nil {
		result["env"] = env
	}
	for _, key := range []string{"command", "args"} {
		words, is := container[key].([]any)
		if !is {
			continue
		}
		words = slices.Clone(words)
		for i, word := range words {
			if text, is := word.(string); is {
				words[i] = s.substitute(text, values)
			}
		}
		result[key] = words
	}
	return result
}

// mentionsVariables reports quickly whether a container uses variables: most do not.
func mentionsVariables(container map[string]any) bool {
	for _, key := range []string{"command", "args", "env"} {
		list, _ := container[key].([]any)
		for _, item := range list {
			text, is := item.(string)
			if variable, named := item.(map[string]any); named {
				text, is = variable["value"].(string)
			}
			if is && strings.Contains(text, "$(") {
				return true
			}
		}
	}
	return false
}

// variables evaluates the variables of a container in the order of the kubelet. env is
// the list with their values.
func (s *settings) variables(container map[string]any, namespace string) (env []any, values map[string]string) {
	values = map[string]string{}
	sources, _ := container["envFrom"].([]any)
	for _, item := range sources {
		source, _ := item.(map[string]any)
		prefix, _ := source["prefix"].(string)
		ref, _ := source["configMapRef"].(map[string]any)
		name, _ := ref["name"].(string)
		for key, value := range s.maps[namespace+"/"+name] {
			if text, is := value.(string); is {
				values[prefix+key] = text
			}
		}
	}
	list, _ := container["env"].([]any)
	for _, item := range list {
		variable, is := item.(map[string]any)
		name, _ := variable["name"].(string)
		if !is || name == "" {
			env = append(env, item)
			continue
		}
		value, known := s.valueOf(variable, namespace, values)
		if known {
			variable = maps.Clone(variable)
			variable["value"], values[name] = value, value
		} else {
			delete(values, name)
		}
		env = append(env, variable)
	}
	return env, values
}

// valueOf returns the value of one variable; known is false if only the cluster has it.
func (s *settings) valueOf(variable map[string]any, namespace string, before map[string]string) (value string, known bool) {
	from, is := variable["valueFrom"].(map[string]any)
	if !is {
		value, known = variable["value"].(string)
		return s.substitute(value, before), known
	}
	ref, _ := from["configMapKeyRef"].(map[string]any)
	name, _ := ref["name"].(string)
	key, _ := ref["key"].(string)
	value, known = s.maps[namespace+"/"+name][key].(string)
	return value, known
}

// substitute replaces $(NAME) with values, within the limits.
func (s *settings) substitute(text string, values map[string]string) string {
	if s.left <= 0 || !strings.Contains(text, "$") {
		return text
	}
	expanded := expand(text, values)
	s.left -= len(expanded)
	return expanded
}

// expand replaces $(NAME) with values. $$ is a dollar sign, so $$(NAME) becomes $(NAME).
// If a text grows too large, expand returns it unchanged.
func expand(text string, values map[string]string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)
		if b.Len() > len(text)+maxGrowth {
			return text
		}
		if rest = after; !found {
			break
		}
		name, behind, ends := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := values[name]
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			rest = after[1:]
		case strings.HasPrefix(after, "(") && ends && known:
			b.WriteString(value)
			rest = behind
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

// openVariable matches a variable without a known value.
var openVariable = regexp.MustCompile(`\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)

// isOpen reports whether a text contains such a variable.
func isOpen(text string) bool { return strings.Contains(text, "$(") && openVariable.MatchString(text) }

// withSamples replaces each unknown variable with a sample value that fits its name.
func withSamples(text string) string {
	if !isOpen(text) {
		return text
	}
	return openVariable.ReplaceAllStringFunc(text, func(variable string) string {
		m := meaningOf(openVariable.FindStringSubmatch(variable)[1])
		switch {
		case m.named:
			return "registry.example/x:1.0"
		case m.part == registryPart || m.part == repositoryPart:
			return "registry.example"
		case m.part == tagPart || m.part == versionPart:
			return "1.0"
		}
		return "x"
	})
}

// openWord classifies a word with an unknown variable.
func (s *searcher) openWord(word string, c context) {
	switch shape := withSamples(word); s.form(shape) {
	case whole:
	case unlikely:
		if !c.named {
			return
		}
	case untagged:
		if !c.named || !hasHost(shape) {
			return
		}
	default:
		return
	}
	s.add(Candidate{Ref: Ref{Image: word}, Open: true})
}
