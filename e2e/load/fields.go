package load

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managed returns managedFields as the API server records them: one entry for the
// writer of metadata and spec, and one for the writer of the status.
func managed(apiVersion, writer, reporter string, object any) []metav1.ManagedFieldsEntry {
	at := born()
	entry := func(manager, subresource string, fields any) metav1.ManagedFieldsEntry {
		raw, _ := json.Marshal(fields) // maps of strings
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
			APIVersion: apiVersion, Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
		}
	}
	all := set(plain(object))
	status := all["f:status"]
	delete(all, "f:status")
	return []metav1.ManagedFieldsEntry{entry(writer, "", all), entry(reporter, "status", map[string]any{"f:status": status})}
}

// plain returns the object in its JSON form.
func plain(object any) map[string]any {
	var fields map[string]any
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic(err) // an API type without a JSON form
	}
	return fields
}

// set returns the fields of a map in the format of FieldsV1.
func set(fields map[string]any) map[string]any {
	owned := map[string]any{}
	for name, value := range fields {
		switch name {
		case "uid", "namespace", "creationTimestamp", "kind", "apiVersion", "nodeName", "generation", "priority", "preemptionPolicy": // the API server sets these
		case "containerStatuses", "tolerations": // atomic
			owned["f:"+name] = map[string]any{}
		default:
			owned["f:"+name] = below(value)
		}
	}
	return owned
}

// below returns the fields of one value. The elements of a list of objects are named by
// the key of the list.
func below(value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return set(v)
	case []any:
		owned := map[string]any{".": map[string]any{}}
		for i, element := range v {
			object, is := element.(map[string]any)
			if !is {
				return map[string]any{}
			}
			if object["name"] != tokenVolume { // an admission plug-in adds it
				owned[listKey(object, i)] = set(object)
			}
		}
		return owned
	default:
		return map[string]any{}
	}
}

func listKey(object map[string]any, i int) string {
	for _, name := range []string{"name", "uid", "type", "mountPath", "containerPort", "ip"} {
		if value, has := object[name]; has {
			text, _ := json.Marshal(map[string]any{name: value}) // a map of a scalar
			return "k:" + string(text)
		}
	}
	return fmt.Sprintf("i:%d", i)
}
