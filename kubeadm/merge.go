package kubeadm

// merge lays over onto base: maps key by key, anything else replaced. Neither
// is changed.
func merge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	for k, v := range base {
		merged[k] = v
	}
	for k, v := range over {
		below, isMap := merged[k].(map[string]any)
		above, both := v.(map[string]any)
		if isMap && both {
			v = merge(below, above)
		}
		merged[k] = v
	}
	return merged
}
