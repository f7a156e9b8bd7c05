"""Entering the price of a model that the price list does not know."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from batchboard.forms import PriceForm
from batchboard.models import PriceNotPossible, StoredPrice
from batchboard.roles import Right, require
from batchboard.views.limits import WRONG, limits_page


@require_POST
def limits_prices(request: HttpRequest) -> HttpResponse:
    require(request.user, Right.ADMINISTER, "enter a price")
    form = PriceForm(request.POST)
    if form.is_valid():
        model = form.cleaned_data["model"]
        valid_from = form.cleaned_data["valid_from"]
        try:
            StoredPrice.objects.enter(model, form.prices, valid_from=valid_from, by=request.user)
        except PriceNotPossible as wrong:
            form.add_error(wrong.field, str(wrong))
    if not form.is_valid():
        page = limits_page(request, price_form=form)
        return render(request, "limits/limits.html", page, status=WRONG)
    messages.success(request, f"Price of {model} saved. It takes effect within seconds.")
    return redirect("limits")
