// Package exchange imports measurements from other programs and exports them: a campaign as a
// table, and a CSV file of measurements as a request to import them. [Import] reads the output
// of [Table.WriteCSV] to the last bit.
//
// On the way in a file becomes a [Sheet] of texts with their places
// ([ReadSheet]); an [Import] reads each row as a measurement and lets the engine
// judge it, without recording anything. [Import.Preview] shows the outcome row
// by row, and [Import.Read] makes it all or nothing. On the way out [TableOf]
// makes the table from which a CSV file, or another format, is written.
// Recording is left to the caller.
package exchange
