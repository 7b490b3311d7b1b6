package main

import (
	"fmt"
	"io"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
)

// checkDescription describes a check for --explain.
type checkDescription struct {
	ID     string             `json:"id"`
	Title  string             `json:"title"`
	Breaks string             `json:"breaks"`
	Source string             `json:"source"`
	Role   preflight.Role     `json:"role,omitempty"` // hosts with this role; empty: all hosts
	Limits []limitDescription `json:"limits"`
}

// limitDescription describes a setting of a check in airgap.yaml.
type limitDescription struct {
	Name  string            `json:"name"` // preflight.checks.ID.NAME
	Unit  preflight.Measure `json:"unit"`
	About string            `json:"about"`
}

// explainCheck prints the description of a check, for sites without internet access.
func explainCheck(a *app, id string) error {
	if err := a.refuseReportFormat("airgap preflight --explain"); err != nil {
		return err
	}
	c, err := preflight.Lookup(id)
	if err != nil {
		return advice.Usagef("%v", err)
	}
	e := checkDescription{ID: c.ID, Title: c.Title, Breaks: c.Breaks, Source: c.Source, Role: c.Role}
	for _, l := range c.Limits {
		e.Limits = append(e.Limits, limitDescription{l.Name, l.Unit, l.About})
	}
	return a.print(e, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s\n\n  impact      %s\n", e.ID, e.Title, e.Breaks)
		if e.Role != "" {
			fmt.Fprintf(w, "  hosts       with the role %s\n", e.Role)
		}
		for _, l := range e.Limits {
			fmt.Fprintf(w, "  limit       %s (%s): %s\n", l.Name, l.Unit, l.About)
		}
		fmt.Fprintf(w, "  airgap.yaml preflight.checks.%s.severity: warn turns a failure into a warning\n", e.ID)
		_, err := fmt.Fprintf(w, "  skip        --skip %s\n  source      %s\n", e.ID, e.Source)
		return err
	})
}

func listChecks(a *app) error {
	if err := a.refuseReportFormat("airgap preflight --list"); err != nil {
		return err
	}
	checks := preflight.Checks()
	type row struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Source string `json:"source"`
	}
	rows := make([]row, len(checks))
	for i, c := range checks {
		rows[i] = row{c.ID, c.Title, c.Source}
	}
	return a.print(rows, func(w io.Writer) error {
		for _, r := range rows {
			if _, err := fmt.Fprintf(w, "%-20s %-40s %s\n", r.ID, r.Title, r.Source); err != nil {
				return err
			}
		}
		return nil
	})
}
