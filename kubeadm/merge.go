package kubeadm

import "maps"

// merge lays over onto base: maps key by key, anything else replaced. Neither
// is changed.
func merge(base, over map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
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
