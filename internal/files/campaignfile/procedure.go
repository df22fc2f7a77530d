package campaignfile

import (
	"regexp"
	"strings"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// withStages writes the short forms of a procedure out, in a tree whose places stay those that were
// written. Its stages are in the order of the file, which a plain mapping does not have:
//
//	procedure: {dose: {on: doser}}          procedure: [{name: dose, on: doser}]
//	after: dose                             after: [{stage: dose}]
//	after: [measure, {load: 2h..3h}]        after: [{stage: measure}, {stage: load, from: 2h, until: 3h}]
//	gives: clear                            gives: [clear]
func withStages(root *yamltree.Node) *yamltree.Node {
	procedure := root.Field("procedure")
	var stages []*yamltree.Node
	switch {
	case procedure.IsMapping():
		for _, name := range procedure.Keys() {
			stage := procedure.Field(name)
			if stage.Faulty {
				continue // reported as it was read
			}
			if stage.IsMapping() || stage.IsNull() {
				stage = stage.With("name", yamltree.Text(name))
			}
			stages = append(stages, withEdges(stage))
		}
	case procedure.IsList():
		for _, stage := range procedure.Items {
			stages = append(stages, withEdges(stage))
		}
	default:
		return root
	}
	return root.With("procedure", listAt(procedure, stages))
}

// listAt is a list in the place of a node.
func listAt(node *yamltree.Node, items []*yamltree.Node) *yamltree.Node {
	list := yamltree.List(items)
	list.Path, list.Place, list.Key = node.Path, node.Place, node.Key
	return list
}

// withEdges writes out what a stage comes after, and what it gives.
func withEdges(stage *yamltree.Node) *yamltree.Node {
	if gives := stage.Field("gives"); gives != nil && isText(gives) {
		stage = stage.With("gives", listAt(gives, []*yamltree.Node{gives}))
	}
	after := stage.Field("after")
	if after == nil || after.Faulty {
		return stage
	}
	parts := []*yamltree.Node{after}
	if after.IsList() {
		parts = after.Items
	}
	var edges []*yamltree.Node
	for _, part := range parts {
		switch {
		case isText(part):
			edges = append(edges, part.With("stage", part))
		case part.IsMapping() && !(after.IsList() && part.Field("stage") != nil):
			for _, before := range part.Keys() {
				edges = append(edges, edgeOf(before, part.Field(before)))
			}
		default:
			edges = append(edges, part)
		}
	}
	return stage.With("after", listAt(after, edges))
}

// isText reports whether a node is a text that could be read.
func isText(n *yamltree.Node) bool {
	_, text := n.Value.(string)
	return text && !n.Faulty
}

// timeRange is a range of times: 2h..3h, 2h.. or ..3h.
var timeRange = regexp.MustCompile(`^([0-9][0-9.]*[a-zµ][0-9a-zµ]*)?\.\.([0-9][0-9a-zµ.]*)?$`)

// edgeOf is the edge behind a stage, with the range of times that was written for it. Any other
// text is left as a time for the schema to refuse.
func edgeOf(before string, times *yamltree.Node) *yamltree.Node {
	edge := times.With("stage", yamltree.Text(before))
	if times.IsNull() {
		return edge
	}
	text, _ := times.Value.(string)
	parts := timeRange.FindStringSubmatch(text)
	bound := func(text string) *yamltree.Node {
		node := *times
		node.Value = text
		return &node
	}
	switch {
	case text == "":
		return edge.With("from", times)
	case parts == nil || text == "..":
		return edge.With("from", bound(" "+text)) // a single time might be the least or the greatest
	}
	for i, key := range []string{"from", "until"} {
		if part := parts[i+1]; part != "" {
			edge = edge.With(key, bound(part))
		}
	}
	if parts[2] != "" && !strings.ContainsAny(parts[2], "123456789") {
		return edge.With("until", times) // 0 would stand for no end
	}
	return edge
}
