package workload

// definition searches the defaults of a kind: the API server sets them in objects without
// the field, and the operator then uses these images.
func (s *searcher) definition(o Object) {
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

// defaultsOf returns an object with only the defaults of a schema, or nil. It includes
// parts that are disabled by default, because an object can enable them.
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
