[Function { name: "", recorded: false }]
