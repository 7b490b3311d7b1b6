package settings

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

const (
	firewalldUndo = host.UndoDir + "/firewalld.json"
	zonesDir      = "/etc/firewalld/zones"
	vendorZones   = "/usr/lib/firewalld/zones"
)

// firewallRecord has our additions to firewalld, by view, and the original files of the
// zones: firewalld rewrites each in its own form.
type firewallRecord struct {
	Added map[string]openings  `json:"added"`
	Files map[string]host.Kept `json:"files"` // by path
}

// pending returns the changes from the current to the wanted state.
func (w firewalld) pending(ctx context.Context) ([]zoneChange, error) {
	if runs, err := w.m.UnitIs(ctx, "is-active", "firewalld"); err != nil || !runs {
		return nil, err
	}
	now, err := viewRuntime().read(ctx, w.m)
	if err != nil {
		return nil, err
	}
	zones, err := w.zones(ctx, now)
	if err != nil {
		return nil, err
	}
	return firewallChanges(ctx, w.m, w.want.wanted(zones), viewRuntime(), viewPermanent())
}

func firewallChanges(ctx context.Context, m host.Machine, want openings, views ...firewallView) ([]zoneChange, error) {
	record, err := host.ReadJSON[firewallRecord](m.Path(firewalldUndo))
	if err != nil {
		return nil, err
	}
	var all []zoneChange
	for _, v := range views {
		have, err := v.read(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, v.changes(have, want, record.Added[v.name])...)
	}
	return all, nil
}

// open records its additions before it makes them.
func (w firewalld) open(ctx context.Context) error {
	changes, err := w.pending(ctx)
	if err != nil {
		return err
	}
	if err := recordFirewall(w.m, changes); err != nil {
		return err
	}
	return changeFirewall(ctx, w.m, changes)
}

func changeFirewall(ctx context.Context, m host.Machine, changes []zoneChange) error {
	for _, c := range changes {
		if err := c.make(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func recordFirewall(m host.Machine, changes []zoneChange) error {
	record, err := host.ReadJSON[firewallRecord](m.Path(firewalldUndo))
	if err != nil {
		return err
	}
	if record.Added == nil {
		record = firewallRecord{Added: map[string]openings{}, Files: map[string]host.Kept{}}
	}
	for _, c := range changes {
		if c.verb == "add" {
			record.Added[c.view.name] = union(record.Added[c.view.name], openings{c.zone: c.what})
		}
		for _, file := range zoneFiles(c.zone) {
			if _, known := record.Files[file]; known {
				continue
			}
			if record.Files[file], err = m.Keep(file); err != nil {
				return err
			}
		}
	}
	return host.WriteJSON(m.Path(firewalldUndo), record)
}

// zoneFiles are a zone's file and the copy that firewalld makes before it
// writes.
func zoneFiles(zone string) []string {
	return []string{zonesDir + "/" + zone + ".xml", zonesDir + "/" + zone + ".xml.old"}
}

// close removes our additions, and keeps the entries of others.
func (w firewalld) close(ctx context.Context) error {
	record, err := host.ReadJSON[firewallRecord](w.m.Path(firewalldUndo))
	if err != nil {
		return err
	}
	views := []firewallView{viewRuntime(), viewPermanent()}
	if runs, err := w.m.UnitIs(ctx, "is-active", "firewalld"); err != nil {
		return err
	} else if !runs {
		views = views[:0]
		if there, err := offline(ctx, w.m); err != nil {
			return err
		} else if there {
			views = append(views, viewOffline())
		}
	}
	changes, err := firewallChanges(ctx, w.m, nil, views...)
	if err != nil {
		return err
	}
	if err := changeFirewall(ctx, w.m, changes); err != nil {
		return err
	}
	for file, before := range record.Files {
		if zone, is := strings.CutSuffix(file, ".xml"); is {
			if err := restoreZone(w.m, zone, before, record.Files[file+".old"]); err != nil {
				return err
			}
		}
	}
	return host.Remove(w.m.Path(firewalldUndo))
}

// restoreZone puts back a zone's files as they were written, unless the zone
// says something else by now.
func restoreZone(m host.Machine, zone string, before, copyBefore host.Kept) error {
	now, err := m.Keep(zone + ".xml")
	if err != nil || now.Absent {
		return err
	}
	was := before
	if before.Absent { // then the vendor's counted
		if was, err = m.Keep(strings.Replace(zone, zonesDir, vendorZones, 1) + ".xml"); err != nil {
			return err
		}
	}
	if !sameXML(now.Data, was.Data) {
		return nil
	}
	return errors.Join(m.RestoreKept(zone+".xml", before), m.RestoreKept(zone+".xml.old", copyBefore))
}

// sameXML compares two documents without the order of their elements, space
// and comments.
func sameXML(a, b []byte) bool {
	left, errLeft := flatten(a)
	right, errRight := flatten(b)
	return errLeft == nil && errRight == nil && slices.Equal(left, right)
}

// flatten lists a document's elements, sorted, each with the path to it, its
// attributes, its text and all that is in it.
func flatten(text []byte) ([]string, error) {
	var root xmlElement
	if err := xml.Unmarshal(text, &root); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return root.flat(), nil
}

type xmlElement struct {
	XMLName  xml.Name
	Attrs    []xml.Attr   `xml:",any,attr"`
	Text     []byte       `xml:",chardata"`
	Elements []xmlElement `xml:",any"`
}

func (e xmlElement) flat() []string {
	words := []string{e.XMLName.Local, string(bytes.TrimSpace(e.Text))}
	for _, a := range e.Attrs {
		words = append(words, a.Name.Local+"="+a.Value)
	}
	slices.Sort(words[2:])
	var inner []string
	for _, child := range e.Elements {
		inner = append(inner, strings.Join(child.flat(), "\x00"))
	}
	slices.Sort(inner)
	return append(words, inner...)
}
