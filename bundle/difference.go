package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// difference summarizes the differences between bundles a and b. It ignores the hashes
// of parts and the time.
func difference(a, b *Index) string {
	switch {
	case a.Name != b.Name:
		return fmt.Sprintf("name %s, now %s", a.Name, b.Name)
	case !equalJSON(a.Lock, b.Lock):
		return a.Lock.difference(b.Lock)
	case a.Config != b.Config:
		return "airgap.yaml differs"
	case !equalJSON(a.Base, b.Base):
		return "the delta omits different files"
	case !equalJSON(a.Files, b.Files):
		return "the metadata of the packages differs"
	}
	if len(a.Parts) != len(b.Parts) || a.Parts[0].Size != b.Parts[0].Size {
		return "the part size differs"
	}
	return ""
}

// difference names the first few changed, new or removed items.
func (l Lock) difference(other Lock) string {
	was, is := l.identities(), other.identities()
	var found []string
	for what, id := range is {
		if before, known := was[what]; !known {
			found = append(found, what+" is new")
		} else if before != id {
			found = append(found, what+" changed")
		}
	}
	for what := range was {
		if _, still := is[what]; !still {
			found = append(found, what+" is no longer required")
		}
	}
	slices.Sort(found)
	switch {
	case len(found) == 0:
		return "the lock differs"
	case len(found) > 3:
		return fmt.Sprintf("%s, and %d more", strings.Join(found[:3], ", "), len(found)-3)
	default:
		return strings.Join(found, ", ")
	}
}

// identities are the hashes of all locked items, by display name.
func (l Lock) identities() map[string]string {
	ids := map[string]string{}
	for _, i := range l.Images {
		ids["image "+i.Name] = i.Digest
	}
	for _, p := range l.Packages {
		ids["package "+p.NEVRA.String()] = p.SHA256
	}
	for _, f := range l.Files {
		ids["file "+f.Name] = f.SHA256
	}
	for _, a := range l.Applied() {
		ids[l.called(a)] = a.SHA256
		if a.Chart != nil {
			ids["chart "+a.Chart.Name+" "+a.Chart.Version] = a.Chart.SHA256
		}
	}
	return ids
}

func equalJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
