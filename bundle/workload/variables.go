package workload

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Bounds of the values of variables, in bytes: ten variables of ten variables
// each are soon a billion.
const (
	maxGrowth   = 64 << 10 // of one text
	maxExpanded = 16 << 20 // of all texts in which values were put
)

// settings are what gives variables their values.
type settings struct {
	maps map[string]map[string]any // data of ConfigMaps, by "namespace/name"
	left int                       // bytes that may be made yet
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

// expanded is a container as the kubelet starts it: the variables in its
// arguments and in its other variables have their values. What nobody here knows
// stays as it is written.
func (s *settings) expanded(container map[string]any, namespace string) map[string]any {
	if !mentionsVariables(container) {
		return container
	}
	env, values := s.variables(container, namespace)
	made := maps.Clone(container)
	if env != nil {
		made["env"] = env
	}
	for _, key := range []string{"command", "args"} {
		words, is := container[key].([]any)
		if !is {
			continue
		}
		words = slices.Clone(words)
		for i, word := range words {
			if text, is := word.(string); is {
				words[i] = s.put(text, values)
			}
		}
		made[key] = words
	}
	return made
}

// mentionsVariables is a quick look: most containers have none.
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

// variables are those of a container in the order in which the kubelet makes
// them. env is the list with their values in place.
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

// valueOf is the value of one variable; known is false where only the cluster
// has it.
func (s *settings) valueOf(variable map[string]any, namespace string, before map[string]string) (value string, known bool) {
	from, is := variable["valueFrom"].(map[string]any)
	if !is {
		value, known = variable["value"].(string)
		return s.put(value, before), known
	}
	ref, _ := from["configMapKeyRef"].(map[string]any)
	name, _ := ref["name"].(string)
	key, _ := ref["key"].(string)
	value, known = s.maps[namespace+"/"+name][key].(string)
	return value, known
}

// put puts values in the place of $(NAME), as far as the bounds let it.
func (s *settings) put(text string, values map[string]string) string {
	if s.left <= 0 || !strings.Contains(text, "$") {
		return text
	}
	made := expand(text, values)
	s.left -= len(made)
	return made
}

// expand puts values in the place of $(NAME). $$ is a dollar, so that $$(NAME)
// becomes $(NAME). A text that grows too large stays as it is.
func expand(text string, values map[string]string) string {
	var made strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "$")
		made.WriteString(before)
		if made.Len() > len(text)+maxGrowth {
			return text
		}
		if rest = after; !found {
			break
		}
		name, behind, ends := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := values[name]
		switch {
		case strings.HasPrefix(after, "$"):
			made.WriteByte('$')
			rest = after[1:]
		case strings.HasPrefix(after, "(") && ends && known:
			made.WriteString(value)
			rest = behind
		default:
			made.WriteByte('$')
		}
	}
	return made.String()
}

// openVariable is a variable that nobody here knows.
var openVariable = regexp.MustCompile(`\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)`)

// isOpen reports whether a text has such a variable.
func isOpen(text string) bool { return strings.Contains(text, "$(") && openVariable.MatchString(text) }

// supposed is a text with a value in the place of each variable that nobody here
// knows, such as its name promises.
func supposed(text string) string {
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

// openWord judges a word with a variable that nobody here knows.
func (s *scout) openWord(word string, c context) {
	switch shape := supposed(word); s.form(shape) {
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
