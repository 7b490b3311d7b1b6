package workload

// definition looks at the defaults of a kind: the API server writes them into
// objects that leave a field out, and an operator runs what they name.
func (s *scout) definition(o Object) {
	spec, _ := o.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); !served {
			continue
		}
		schema, _ := version["schema"].(map[string]any)
		defaults := defaultsOf(schema["openAPIV3Schema"], 0)
		if defaults == nil {
			continue
		}
		s.in("schema", func() { s.in(name, func() { s.value("", defaults, context{}) }) })
	}
}

// defaultsOf is an object that has nothing but the defaults of a schema; nil for
// none. Parts that are switched off by default count: an object may switch them on.
func defaultsOf(schema any, depth int) any {
	m, _ := schema.(map[string]any)
	if m == nil || depth > maxDepth {
		return nil
	}
	own := m["default"]
	if items := defaultsOf(m["items"], depth+1); own == nil && items != nil {
		return []any{items}
	}
	set, is := own.(map[string]any)
	if own != nil && !is {
		return own
	}
	all := map[string]any{}
	for _, below := range []any{m["properties"], map[string]any{"*": m["additionalProperties"]}} {
		properties, _ := below.(map[string]any)
		for key, property := range properties {
			if value := defaultsOf(property, depth+1); value != nil && key != "enabled" {
				all[key] = value
			}
		}
	}
	for key, value := range set {
		if key != "enabled" {
			all[key] = value
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
